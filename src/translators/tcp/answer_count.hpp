// How many answers to one peer wait to leave. A peer that takes none would otherwise make this process keep one for every command that
// it cares to send.
#pragma once

#include "translators/tcp/frames.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heddle::translators::tcp {

// Answers leave among other frames, and only the bytes of the stream are counted there. So they are counted in two parts, before and
// after a mark in it: when all up to the mark has left, the first part has. Neither part can become more than a peer may have asked
// for at once, unless it has asked for more.
class AnswerCount {
 public:
  // One more, in a stream of which so many bytes have been taken in all, and so many have left. False: the peer breaks the rules.
  [[nodiscard]] bool add(std::uint64_t taken, std::uint64_t left) {
    if (left >= mark_) {
      before_ = std::exchange(after_, 0);
      mark_ = taken;
    }
    return ++after_ + before_ <= 2 * kMostAsked;
  }

 private:
  std::uint64_t mark_ = 0;
  std::size_t before_ = 0;
  std::size_t after_ = 0;
};

} // namespace heddle::translators::tcp
