// What a single-threaded program has used of a processor, which other programs on the machine disturb least.
#pragma once

#include <ctime>

namespace heddle::bench {

inline double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace heddle::bench
