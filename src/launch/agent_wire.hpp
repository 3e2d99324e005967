// What the launcher and its agents say to each other, once both have proven that they know the secret: frames of a stream
// (net/frames.hpp). Docs: docs/protocols/agents.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "auth/introduction.hpp"
#include "launch/job_variables.hpp"
#include "launch/launcher.hpp"
#include "launch/process.hpp"
#include "net/frames.hpp"

namespace heddle::launch {

inline constexpr auth::Service kAgentService{.purpose = auth::Purpose::agent, .version = 1};
// A machine that does not answer for so long is gone.
inline constexpr std::chrono::seconds kAgentSilence{7};
inline constexpr std::size_t kLargestOrder = 8 << 20;  // arguments and environment of a program
inline constexpr std::size_t kLargestPiece = 32 << 10; // of output or input
inline constexpr std::size_t kMostInput = 64 << 10;    // that was sent and is not taken yet

enum class AgentKind : std::uint8_t {
  // from agent to launcher
  hello = 1, // u32 number of the host, text version of Heddle
  started,   // all processes of this host
  refused,   // i64 errno or 0, text what could not be done
  output,    // u32 rank, u8 1: standard output, 2: standard error, text bytes
  ended,     // u32 rank, u8 whether it was killed, i64 signal or exit status
  taken,     // u32 bytes of input that rank 0 has got
  // from launcher to agent
  start,  // see StartOrder
  signal, // u32 number, to all processes
  input,  // text for rank 0; empty: there is no more
  hush,   // u8 stream that nobody reads any more
  finish, // whatever still runs is ended, and so is the agent
};

struct StartOrder {
  std::uint32_t first = 0; // rank
  std::uint32_t count = 1;
  Binding bind = Binding::automatic;
  bool gets_input = false; // rank 0 is here, and reads
  std::string directory;
  std::vector<std::string> command;
  Variables variables; // in the place of those that the agent has

  [[nodiscard]] net::Bytes encode() const;
  // Nothing where the body is none.
  static std::optional<StartOrder> decode(std::span<const std::byte> body);
};

// The other messages, as they are read from a body: nothing where it is none. What they view lives as long as the body.

struct AgentHello {
  std::uint32_t host = 0;
  std::string_view version;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<AgentHello> decode(std::span<const std::byte> body);
};

struct AgentRefusal {
  int code = 0; // errno, or 0
  std::string_view fact;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<AgentRefusal> decode(std::span<const std::byte> body);
};

struct AgentOutput {
  std::uint32_t rank = 0;
  std::uint8_t stream = 1;
  std::span<const std::byte> bytes;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<AgentOutput> decode(std::span<const std::byte> body);
};

struct AgentEnded {
  std::uint32_t rank = 0;
  Ending ending;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<AgentEnded> decode(std::span<const std::byte> body);
};

struct AgentTaken {
  std::uint32_t bytes = 0;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<AgentTaken> decode(std::span<const std::byte> body);
};

struct SignalOrder {
  int number = 0;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<SignalOrder> decode(std::span<const std::byte> body);
};

struct InputOrder {
  std::span<const std::byte> bytes; // none: the end

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<InputOrder> decode(std::span<const std::byte> body);
};

struct HushOrder {
  std::uint8_t stream = 1;

  [[nodiscard]] net::Bytes encode() const;
  static std::optional<HushOrder> decode(std::span<const std::byte> body);
};

// Those without a body.
net::FrameWriter agent_frame(AgentKind kind);

} // namespace heddle::launch
