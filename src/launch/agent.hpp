// The launcher's hand on another machine: starts the processes of a job there, passes on what they write and read, and ends them when
// the launcher is gone. Docs: docs/protocols/agents.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "auth/secret.hpp"
#include "heddle/error.hpp"
#include "net/endpoint.hpp"

namespace heddle::launch {

// What an agent is told by its standard input, in one line: a command line could be read by every user of the machine.
struct AgentTicket {
  auth::Secret secret;
  net::Endpoint launcher;
  std::uint32_t host = 0; // its number

  [[nodiscard]] std::string line() const;
  // Nothing where the line is none.
  static std::optional<AgentTicket> read(std::string_view line);
};

// Reads the ticket from descriptor 0, and serves the launcher until it has no more use for it. An error means that the agent never
// came to serve; otherwise no process that it started is left.
Result<void> run_agent();

} // namespace heddle::launch
