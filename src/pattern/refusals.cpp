#include "pattern/refusals.hpp"

#include <string>
#include <utility>

namespace heddle::pattern {

Error malformed(std::uint32_t rank) {
  return {.code = ErrorCode::connection_lost,
          .fact = "rank " + std::to_string(rank) + " sent a malformed message about the pattern",
          .peer = rank};
}

Error sends_nothing(const Declared& receive) {
  return {.code = ErrorCode::bad_argument,
          .fact = "rank " + std::to_string(receive.rank) + " sends nothing for the receive of tag " +
                  std::to_string(receive.tag),
          .peer = receive.rank};
}

Error refusal(const Declared& item, Verdict verdict) {
  const std::string rank = "rank " + std::to_string(item.rank);
  const std::string tag = std::to_string(item.tag);
  const std::string bytes = std::to_string(item.source.bytes()) + " bytes";
  const auto error = [&](std::string fact, std::string remedy = {}, ErrorCode code = ErrorCode::bad_argument) {
    return Error{.code = code, .fact = std::move(fact), .remedy = std::move(remedy), .peer = item.rank};
  };
  switch (verdict) {
    case Verdict::no_receive: return error(rank + " has no receive for the send of tag " + tag);
    case Verdict::too_long: return error(rank + "'s receive of tag " + tag + " is shorter than the " + bytes + " sent");
    case Verdict::not_exposed: return error(rank + " exposes no memory as area " + tag + " in this pattern");
    case Verdict::beyond_end:
      return error("a put of " + bytes + " at offset " + std::to_string(item.offset) + " ends beyond area " + tag +
                   " of " + rank);
    case Verdict::unreachable:
      return error("the memory of " + rank + " cannot be written by other processes", "use sends and receives",
                   ErrorCode::unreachable);
    case Verdict::out_of_memory:
      return error(rank + " has no memory left for incoming messages", "raise option ring_memory",
                   ErrorCode::out_of_memory);
    case Verdict::taken:
      return error("area " + tag + " of " + rank + " is not contiguous, and another put already writes to it",
                   "expose contiguous memory, or put to it once");
    case Verdict::fine: break;
  }
  return malformed(item.rank);
}

} // namespace heddle::pattern
