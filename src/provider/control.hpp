// What endpoints say to each other about memory: RMA and atomic operations are carried out by the target, in its calls, since only it knows
// which memory may be reached how, and since atomics of every kind and type must be atomic with each other.
//
//   write    small: data within the message; large: a message of its own follows, which the target receives into place    -> answer
//   read     the answer holds the data; large: it comes as a message of its own, into place                               -> answer on error
//   atomic   operands (and what to compare with) within the message                                                       -> answer with what was there
//
// A target checks key, access, range and sizes; what it refuses it answers with a code.
#pragma once

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>

namespace heddle::provider {

// Tags on the second channel.
inline constexpr std::uint64_t kUntagged = 0;
inline constexpr std::uint64_t kControlTag = std::uint64_t{1} << 63U;
inline constexpr std::uint64_t kReadTag = std::uint64_t{1} << 62U;  // and the number of the part
inline constexpr std::uint64_t kWriteTag = std::uint64_t{1} << 61U; // the same

// greeting: says nothing. It makes the connection.
enum class ControlKind : std::uint8_t { write, write_bulk, read, atomic, fetch, compare, answer, greeting };

struct Control {
  ControlKind kind{};
  std::uint8_t datatype = 0;
  std::uint8_t op = 0;
  std::uint8_t has_data = 0;
  std::uint32_t code = 0;    // of an answer
  std::uint64_t part = 0;    // as the initiator numbers it
  std::uint64_t key = 0;     // of the memory
  std::uint64_t address = 0; // in it
  std::uint64_t bytes = 0;
  std::uint64_t data = 0; // for the target's completion queue
};

inline constexpr std::uint64_t kLetter = 1; // cookie of a control message that was injected: no address of an operation

inline constexpr std::size_t kInlineBytes =
    16384; // of data within a message: what may be injected, and more than any atomic operation
inline constexpr std::size_t kLargestControl = sizeof(Control) + kInlineBytes;

// Carries out an atomic operation on `count` elements; `before` gets what was there, where it is not null. False: there is no such
// operation on that type.
bool apply_atomic(std::uint8_t datatype, std::uint8_t op, std::size_t count, std::byte* memory,
                  const std::byte* operands, const std::byte* compare, std::byte* before);
// Bytes of an element; 0: there is no such type.
std::size_t element_bytes(std::uint8_t datatype);
// Whether a plain, a fetching or a comparing one exists.
enum class AtomicForm : std::uint8_t { plain, fetch, compare };
bool atomic_exists(AtomicForm form, std::uint8_t datatype, std::uint8_t op);

} // namespace heddle::provider
