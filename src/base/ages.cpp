#include "base/ages.hpp"

#include <algorithm>

namespace heddle::base {

void Ages::note(std::uint64_t count, std::uint64_t now_ns) {
  if (moments_.size() == kMost) moments_.erase(moments_.begin());
  moments_.push_back({.count = count, .ns = now_ns});
  // One is left out where its neighbours are close to each other, for their age.
  std::size_t kept = std::min<std::size_t>(moments_.size(), 1);
  for (std::size_t i = 1; i < moments_.size(); ++i) {
    const bool last = i + 1 == moments_.size();
    if (last || moments_[i + 1].ns - moments_[kept - 1].ns > (now_ns - moments_[i + 1].ns) / kPrecision)
      moments_[kept++] = moments_[i];
  }
  moments_.resize(kept);
}

std::uint64_t Ages::of(std::uint64_t count, std::uint64_t now_ns) const {
  const auto later = std::ranges::lower_bound(moments_, count, {}, &Moment::count);
  return later == moments_.end() || later->ns > now_ns ? 0 : now_ns - later->ns;
}

std::string seconds_text(std::uint64_t ns) {
  const std::uint64_t tenths = ns / 100'000'000;
  if (tenths >= 100) return std::to_string(tenths / 10) + " s";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

} // namespace heddle::base
