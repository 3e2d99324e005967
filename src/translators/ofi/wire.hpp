// What two processes say to each other over a libfabric network: frames, each one message. Docs: docs/protocols/ofi.md. Numbers are
// in the machine's own order.
#pragma once

#include "ir/command.hpp"

#include <cstdint>
#include <type_traits>

namespace heddle::translators::ofi {

enum class FrameKind : std::uint8_t {
  command = 1, // the receiver carries it out; the payload is a put's data
  move,        // a put or get: the receiver moves the data between the two memories by remote access
  answer,      // to either
  goodbye,     // the sender leaves, and waits for
  farewell,    // its answer: everything before the goodbye is here
};

// Then `head_bytes` of a put's head (compare_and_swap: the expected word), then the payload.
struct Frame {
  std::uint64_t token = 0;  // of the job: other frames are not read
  std::uint32_t sender = 0; // its rank
  std::uint32_t order = 0;  // counts the frames of the sender to the receiver: a gap is a loss
  FrameKind kind{};
  ir::Operation operation{};
  std::uint8_t flags = 0; // ir::Flags of a command; ir::Status of an answer
  std::uint8_t head_bytes = 0;
  std::uint32_t number = 0; // of a command that is to be answered; 0: none
  std::uint64_t bytes = 0;  // of a put's data; of a get, what is wanted
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t operand = 0;    // of an atomic; an answer's value; what a put announces
  std::uint64_t memory_key = 0; // the sender's memory, as libfabric names it: of move
  std::uint64_t memory_at = 0;
};
static_assert(std::is_trivially_copyable_v<Frame> && sizeof(Frame) == 72);

// The longest message: as long as providers keep what nobody has asked for yet without a handshake.
inline constexpr std::size_t kFrameBytes = 16 << 10;       // Endpoint::largest_message() may be less
inline constexpr std::uint64_t kLargestTransfer = 1 << 20; // so much can stand before a small message

} // namespace heddle::translators::ofi
