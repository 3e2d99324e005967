#include "job/processors.hpp"

#include <sched.h>

namespace heddle::job {

ProcessorSet usable_processors() {
  ProcessorSet usable{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (std::size_t cpu = 0; cpu < usable.size() * 64 && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) usable[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  return usable;
}

} // namespace heddle::job
