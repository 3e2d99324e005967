#include "progress/turns.hpp"

#include <algorithm>
#include <utility>

namespace heddle::progress {

bool CoreShare::note_turn(std::uint64_t took_ns, std::uint64_t now_ns) {
  if (took_ns > kTimesTheCall * call_ns_) {
    unused_ = 0;
    if (!crowded_ && took_ns >= kTimeSlice)
      next_try_ns_ = now_ns + kAfterASlice;
    else if (crowded_ || ++taken_ >= kTakenInARow)
      shared_ = true;
    return true;
  }
  taken_ = 0;
  call_ns_ = std::min(call_ns_, std::max<std::uint64_t>(took_ns, 1));
  if (unused_++ == 0) unused_since_ns_ = now_ns;
  if (unused_ < kUnused || now_ns - unused_since_ns_ < kUnusedNs) return false;
  unused_ = 0;
  shared_ = false;
  return false;
}

bool TurnLength::gives_turns(std::uint64_t now_ns) {
  if (average_ns_ <= limit_ns()) return true;
  const std::uint64_t period = now_ns >> kPeriodBits;
  const std::uint64_t every = std::uint64_t{1} << halvings_;
  const bool is_trial = now_ns - (period << kPeriodBits) < kTrial && (period == last_period_ || period % every == 0);
  if (is_trial && std::exchange(last_period_, period) != period) halvings_ = std::min(halvings_ + 1, kMostHalvings);
  return is_trial;
}

void TurnLength::note_turn(std::uint64_t given_ns, std::uint64_t back_ns) {
  const auto kept = static_cast<double>(given_ns - std::exchange(has_core_since_ns_, back_ns));
  const auto took = static_cast<double>(back_ns - given_ns);
  kept_ns_ += kWeight * (kept - kept_ns_);
  average_ns_ += kWeight * (std::min(took, 2 * limit_ns()) - average_ns_);
  if (average_ns_ <= limit_ns()) halvings_ = 0;
}

} // namespace heddle::progress
