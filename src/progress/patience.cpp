#include "progress/patience.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/descriptor.hpp"

namespace heddle::progress {
namespace {

// Nobody is left to wait for ever on a machine that is always crowded.
constexpr double kSmallestShare = 1.0 / 60;

double share_now() {
  std::array<char, 128> text{};
  const base::Descriptor file(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  const ssize_t count = file.open() ? ::read(file.number(), text.data(), text.size()) : 0;
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  return processor_share({text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))},
                         static_cast<unsigned>(std::max(processors, 1L)));
}

} // namespace

// "6.06 2.83 1.17 7/112 7114": the fourth says how many run or want to, of how many.
double processor_share(std::string_view loadavg, unsigned processors) {
  for (int field = 0; field < 3; ++field) {
    const std::size_t space = loadavg.find(' ');
    if (space == std::string_view::npos) return 1;
    loadavg.remove_prefix(space + 1);
  }
  unsigned runnable = 0;
  const auto [end, status] = std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), runnable);
  if (status != std::errc{} || runnable <= processors + 1) return 1;
  return std::max(kSmallestShare, static_cast<double>(processors) / (runnable - 1));
}

bool Patience::over(std::uint64_t now_ns) {
  if (limit_ns_ == 0 || now_ns - last_ns_ < kInterval) return false;
  return over(now_ns, share_now());
}

bool Patience::over(std::uint64_t now_ns, double share) {
  // A longer time between two looks was not this process's, either.
  const std::uint64_t passed = std::min(now_ns - last_ns_, kSecond);
  last_ns_ = now_ns;
  counted_ns_ += static_cast<std::uint64_t>(static_cast<double>(passed) * share);
  if (limit_ns_ == 0 || counted_ns_ < next_ns_) return false;
  next_ns_ = 2 * counted_ns_;
  return true;
}

} // namespace heddle::progress
