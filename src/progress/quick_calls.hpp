// How often calls that end at once make progress on the way: whoever makes only such calls still serves its peers, such as those that
// ask for the key of an area, and learns of their deaths.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::progress {

class QuickCalls {
 public:
  // Counts a call. True: make progress, then say when it was made.
  bool due() { return --left_ == 0; }

  // The more slowly calls come, the fewer there are until the next time: whoever calls once in a while still learns of deaths.
  void made_progress(std::uint64_t now_ns) {
    at_once_ = now_ns - last_ns_ > kSlow ? 1 : std::min(2 * at_once_, kMostAtOnce);
    left_ = at_once_;
    last_ns_ = now_ns;
  }

 private:
  static constexpr std::uint64_t kMostAtOnce = 64;
  static constexpr std::uint64_t kSlow = 1'000'000; // ns

  std::uint64_t left_ = 1;
  std::uint64_t at_once_ = 1;
  std::uint64_t last_ns_ = 0;
};

} // namespace heddle::progress
