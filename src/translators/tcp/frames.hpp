// What two processes say to each other over a TCP connection, once each has proven that it knows the secret: hello and welcome, then
// frames. Docs: docs/protocols/tcp.md. Numbers are in the machine's own order: the introduction turns others away.
#pragma once

#include "auth/introduction.hpp"
#include "ir/command.hpp"
#include "translators/tcp/options.hpp"

#include <array>
#include <cstdint>
#include <type_traits>

namespace heddle::translators::tcp {

inline constexpr auth::Service kService{.purpose = auth::Purpose::peer, .version = 3, .own_order = true};

// Where a process listens; port 0: nowhere.
struct Listener {
  in6_addr host{};
  std::uint64_t port = 0;

  static Listener at(const net::Endpoint& place) { return {.host = place.host, .port = place.port}; }
  [[nodiscard]] net::Endpoint endpoint() const { return {.host = host, .port = static_cast<std::uint16_t>(port)}; }
};

// From who connects.
struct Hello {
  std::uint64_t id = 0;     // the process that connects
  std::uint64_t wanted = 0; // the one that it wants
  std::uint64_t attempt =
      0;                  // grows with every connection that the process begins; of a further lane, that of the first
  std::uint64_t lane = 0; // 0: the first connection of the pair
  // Of the process that connects: a connection that breaks can be made again from either side.
  Listener listens;
};

enum class Verdict : std::uint64_t {
  welcome = 1,
  crossing, // the other side connects, too, and its connection stands
  another,  // the process wanted is not here
  leaves,   // it is, and is about to leave
};

// The answer.
struct Welcome {
  Verdict verdict{};
  // The last attempt of the answering process to connect to the other, which it has given up for this one: its hello, which may come
  // later, is void.
  std::uint64_t given_up = 0;
  // Where the answering process listens for further lanes: lane i at i - 1.
  std::array<Listener, kMostLanes - 1> further{};
};

enum class FrameKind : std::uint8_t {
  put = 1,
  get,
  compare_and_swap,
  fetch_and_add,
  answer,
  attach,  // the sender knows the receiver by the number in `operand` from now on
  detach,  // and no longer: it writes nothing more under that number
  goodbye, // the sender leaves
};

// Then `head_bytes` of a put's head (compare_and_swap: the expected word), then `bytes` of payload (put, answer).
struct Frame {
  FrameKind kind{};
  std::uint8_t flags = 0; // ir::Flags of a command, and kConfirm; ir::Status of an answer
  std::uint16_t head_bytes = 0;
  std::uint32_t number = 0; // of a command that is to be answered, + 1; 0: none
  std::uint64_t bytes = 0;  // payload; of a get, what is wanted
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand = 0; // of an atomic; an answer's value; what a put announces
};
static_assert(std::is_trivially_copyable_v<Frame> && sizeof(Frame) == 40);

// In `flags` of a command: more may wait until the system has confirmed this one.
inline constexpr std::uint8_t kConfirm = 0x80;
inline constexpr std::size_t kLongestStart = sizeof(Frame) + ir::kHeadBytes;
// Of one put or get: so much can stand before a small message.
inline constexpr std::uint64_t kLargestTransfer = 256 << 10;
// Commands of one process to another that wait for their answers.
inline constexpr std::size_t kMostAsked = 256;

} // namespace heddle::translators::tcp
