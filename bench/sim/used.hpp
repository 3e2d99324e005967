// What this program has used.
#pragma once

#include <ctime>
#include <fstream>
#include <string>

namespace heddle::bench {

// Of a processor, by its one thread: what other programs on the machine disturb least.
inline double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Of memory, at most so far. From the system's own file: getrusage counts what the parent had before exec, too.
inline double peak_mebibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;)
    if (double kibibytes = 0; name == "VmHWM:" && status >> kibibytes) return kibibytes / 1024;
  return 0;
}

} // namespace heddle::bench
