// The watchdog's: when nothing has moved for so long that somebody should be told. A machine with more to run than processors is slow, not
// stuck: only the part of the time counts that a process gets of a processor there.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace heddle::progress {

// The part of a processor that each of those that want one gets, by the text of /proc/loadavg; 1 where all have one, and where
// the text says nothing. Whoever reads it runs, too, and does not count.
double processor_share(std::string_view loadavg, unsigned processors);

class Patience {
 public:
  explicit Patience(std::chrono::seconds limit) : limit_ns_(static_cast<std::uint64_t>(limit.count()) * kSecond) {}

  // Something has moved.
  void restart(std::uint64_t now_ns) {
    last_ns_ = now_ns;
    counted_ns_ = 0;
    next_ns_ = limit_ns_;
  }
  // True when it is over; then again after twice the time, and so on. Reads a file now and then, at most four times a second.
  bool over(std::uint64_t now_ns);
  // The same, where the share is known.
  bool over(std::uint64_t now_ns, double share);

 private:
  static constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::uint64_t kInterval = kSecond / 4;

  std::uint64_t limit_ns_;
  std::uint64_t last_ns_ = 0;
  std::uint64_t counted_ns_ = 0;
  std::uint64_t next_ns_ = limit_ns_;
};

} // namespace heddle::progress
