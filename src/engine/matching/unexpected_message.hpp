// A message that has arrived before a receive for it: its bytes if it is small, otherwise where to fetch them.
#pragma once

#include "engine/matching/match_class.hpp"
#include "engine/record.hpp"

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>

namespace heddle::engine {

struct UnexpectedMessage {
  std::uint32_t source = 0;
  Channel channel{};
  std::uint64_t tag = 0;
  DataWord word{};
  std::uint64_t bytes = 0;      // of the whole message
  bool waits_at_sender = false; // only the request to send is here
  bool synchronous = false;
  RequestToSend request; // of one that waits at the sender; request.sender also of a synchronous one
  std::byte* data =
      nullptr; // its bytes, in a buffer of the pool; null for those that wait at the sender, and empty ones
  std::uint64_t capacity = 0;
  std::uint64_t generation = 0; // names it outside, once reserved by a matched probe
  bool reserved = false;

  Hook<UnexpectedMessage> by_source_and_tag;
  Hook<UnexpectedMessage> by_class[kMatchClasses];
  Hook<UnexpectedMessage> in_order; // all of them; also links free ones
};

} // namespace heddle::engine
