#include "progress/watchdog.hpp"

#include "base/lines.hpp"

#include <algorithm>
#include <utility>

namespace heddle::progress {

void Watchdog::look(std::uint64_t now_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  ages_.note(means_.work.count(), now_ns);
  if (since_ns_ == 0) {
    since_ns_ = now_ns;
    patience_.restart(now_ns);
  }
  if (!patience_.over(now_ns) || !means_.log.enabled(LogLevel::warning)) return;
  std::string waiting = waiting_for(now_ns);
  if (!waiting.empty()) report(std::move(waiting), (now_ns - since_ns_) / kSecond);
}

void Watchdog::report(std::string waiting, std::uint64_t seconds) const {
  constexpr std::size_t kLastMoments = 16;
  std::string moments = "last moments: " + means_.recorder.dump(kLastMoments);
  std::ranges::replace(moments, '\n', ' ');
  waiting = base::fitting_lines(waiting, store::kLargestReport - std::min(store::kLargestReport, moments.size()));
  waiting += moments;
  if (means_.store.report_stall(static_cast<std::uint32_t>(seconds), waiting)) return;
  means_.log.warning("nothing has moved for " + std::to_string(seconds) + " s; waiting:");
  for (std::size_t from = 0; from < waiting.size();) {
    const std::size_t line_end = std::min(waiting.find('\n', from), waiting.size());
    means_.log.warning("  " + waiting.substr(from, line_end - from));
    from = line_end + 1;
  }
}

} // namespace heddle::progress
