#include "base/flight_recorder.hpp"

#include <algorithm>

namespace heddle::base {

FlightRecorder::FlightRecorder(std::size_t records)
    : ring_(records == 0 ? 0 : std::bit_ceil(records)), start_ticks_(ticks()), start_ns_(steady_ns()) {}

double FlightRecorder::ns_per_tick() const {
  const auto passed_ticks = ticks() - start_ticks_;
  const auto passed_ns = steady_ns() - start_ns_;
  return passed_ticks == 0 ? 1.0 : static_cast<double>(passed_ns) / static_cast<double>(passed_ticks);
}

std::string FlightRecorder::dump(std::size_t most) const {
  const std::uint64_t shown = std::min(most, kept());
  const std::uint64_t now = ticks();
  const double scale = ns_per_tick();
  std::string text;
  for (std::uint64_t i = next_ - shown; i < next_; ++i) {
    const FlightRecord& record = ring_[i & (ring_.size() - 1)];
    const double age_us = static_cast<double>(now - record.time) * scale / 1000.0;
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "%12.3f us ago  ", age_us);
    text.append(numbers).append(record.what);
    std::snprintf(numbers, sizeof numbers, " peer %lld (%llu, %llu)\n", static_cast<long long>(record.peer),
                  static_cast<unsigned long long>(record.first), static_cast<unsigned long long>(record.second));
    text.append(numbers);
  }
  return text;
}

void FlightRecorder::dump(std::FILE* to, std::size_t most) const {
  const std::string text = dump(most);
  std::fwrite(text.data(), 1, text.size(), to);
}

} // namespace heddle::base
