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

void step_onto_processor(std::uint32_t number) {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (::sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  auto left = number % static_cast<std::uint32_t>(CPU_COUNT(&all));
  std::size_t cpu = 0;
  while (!CPU_ISSET(cpu, &all) || left-- > 0) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) ::sched_setaffinity(0, sizeof all, &all);
}

} // namespace heddle::job
