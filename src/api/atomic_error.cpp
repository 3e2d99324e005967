#include "api/atomic_error.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace heddle::api {

namespace {

// Why an atomic operation was refused with bad_argument.
std::string what_is_wrong(const Place& at, const Atomic& operation, std::uint32_t size) {
  if (static_cast<std::uint32_t>(at.peer) >= size)
    return "rank " + std::to_string(static_cast<std::uint32_t>(at.peer)) + " is outside the job of " +
           std::to_string(size) + " processes";
  if (operation.kind > Atomic::Kind::bit_xor)
    return "there is no operation of kind " + std::to_string(static_cast<unsigned>(operation.kind));
  if (operation.bytes != 4 && operation.bytes != 8)
    return "words have 4 or 8 bytes, not " + std::to_string(operation.bytes);
  if (at.offset % operation.bytes != 0)
    return "the offset is not a multiple of the word's " + std::to_string(operation.bytes) + " bytes";
  return "the area is a lock";
}

// Why an atomic operation was not done.
std::string reason(const Place& at, const Atomic& operation, ErrorCode code, std::uint32_t size) {
  constexpr std::array<std::pair<ErrorCode, const char*>, 10> kReasons{
      {{ErrorCode::unknown_area, "its owner has no such area"},
       {ErrorCode::closed_area, "the area is not opened to this process"},
       {ErrorCode::out_of_range, "it is beyond the end of the area"},
       {ErrorCode::revoked_area, "the area was closed"},
       {ErrorCode::unsupported, "that memory cannot be reached by atomic operations"},
       {ErrorCode::peer_failed, "its owner has died"},
       {ErrorCode::peer_left, "its owner has left the job"},
       {ErrorCode::connection_lost, "the connection to its owner is lost"},
       {ErrorCode::out_of_memory, "this process lacks memory for it"},
       {ErrorCode::would_block, "a simulated process cannot wait for it"}}};
  if (code == ErrorCode::bad_argument) return what_is_wrong(at, operation, size);
  const auto known = std::ranges::find(kReasons, code, &std::pair<ErrorCode, const char*>::first);
  return known == kReasons.end() ? std::string(to_string(code)) : known->second;
}

} // namespace

Error atomic_error(const Place& at, const Atomic& operation, ErrorCode code, std::uint32_t size) {
  return {.code = code,
          .fact = "an atomic operation at offset " + std::to_string(at.offset) + " of area " +
                  std::to_string(static_cast<std::uint64_t>(at.area)) + " of rank " +
                  std::to_string(static_cast<std::uint32_t>(at.peer)) +
                  " was not done: " + reason(at, operation, code, size),
          .remedy = {},
          .peer = static_cast<std::int64_t>(at.peer)};
}

} // namespace heddle::api
