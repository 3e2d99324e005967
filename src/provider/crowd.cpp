#include "provider/crowd.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace heddle::provider {

namespace {

std::string text_of(pid_t process, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(process) + "/" + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool was_started_with(pid_t process, const char* variable) {
  const std::string sought = std::string(variable) + "=";
  const std::string environment = text_of(process, "environ");
  return environment.starts_with(sought) || environment.find('\0' + sought) != std::string::npos;
}

// 0: there is none.
pid_t parent_of(pid_t process) {
  const std::string status = text_of(process, "stat"); // 17 (the name, which may hold anything) S 1 ...
  const std::size_t end = status.rfind(") ");
  return end == std::string::npos ? 0 : std::atoi(status.c_str() + std::min(end + 4, status.size()));
}

int processors_of(pid_t process) {
  cpu_set_t usable;
  if (::sched_getaffinity(process, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); // more than the set holds
}

} // namespace

// What the launcher may use. A process of the job may be bound to a core of its own, and so may a script around it be.
int processors_of_job(const char* variable) {
  pid_t launcher = ::getppid();
  while (launcher > 1 && was_started_with(launcher, variable)) launcher = parent_of(launcher);
  return std::max(processors_of(0), launcher > 0 ? processors_of(launcher) : 0);
}

bool is_crowded() {
  static const bool crowded = [] {
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
      if (const char* text = std::getenv(name)) return std::atoi(text) > processors_of_job(name);
    return false;
  }();
  return crowded;
}

} // namespace heddle::provider
