// Which of many connections a poll asks whether their other ends still answer: each once in a round, and at no poll more than the time since
// the last one makes due. All of a thousand at once would take as long as sending hundreds of messages.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace heddle::translators::tcp {

class LookRound {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kLength{500};

  // Places `begin` up to `end`; after the last of them a new round begins.
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_last = false;
  };
  // Of so many places.
  Part next(Clock::time_point now, std::size_t count) {
    if (count != count_) done_ = 0; // who stood where is not known any more
    count_ = count;
    Part part{.begin = done_, .end = count, .is_last = now - begun_ >= kLength};
    if (part.is_last) {
      begun_ = now;
      done_ = 0;
      return part;
    }
    const auto gone = std::chrono::duration_cast<std::chrono::microseconds>(now - begun_);
    constexpr std::chrono::microseconds kWhole = kLength;
    const std::size_t due = count * static_cast<std::size_t>(gone.count()) / static_cast<std::size_t>(kWhole.count());
    done_ = part.end = std::max(done_, due);
    return part;
  }

 private:
  Clock::time_point begun_{};
  std::size_t count_ = 0;
  std::size_t done_ = 0;
};

} // namespace heddle::translators::tcp
