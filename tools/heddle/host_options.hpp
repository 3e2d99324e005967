// The options by which a command runs its job on several machines.
#pragma once

#include "launch/launcher.hpp"

#include <heddle/error.hpp>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tool {

struct HostArguments {
  std::optional<std::string> hosts;
  std::string file;
  std::string shell = "ssh";
  std::string agent;
  std::vector<std::string> environment;
  bool label = false;

  [[nodiscard]] bool given() const { return hosts.has_value() || !file.empty() || label; }
};

void add_host_options(CLI::App& command, HostArguments& arguments);

// Enters them into the job. `processes`: how many were asked for, 0: as many as the hosts take. Of those that are asked for, the
// first hosts get theirs first.
Result<void> apply_hosts(const HostArguments& arguments, std::uint32_t processes, launch::JobDescription& job);

} // namespace heddle::tool
