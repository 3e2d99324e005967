#include "base/descriptor_limit.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace heddle::base {

namespace {
// By the server itself while the job runs, for a moment: looks into /proc, the connection of a process that comes again.
constexpr rlim_t kOpenedLater = 8;
constexpr rlim_t kForAgents = 4; // the door by which they come, and what is ready

// 0: not known, without /proc.
rlim_t open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  rlim_t count = 0;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') ++count;
  ::closedir(folder);
  return count - 1; // the folder's own
}

} // namespace

void make_room_for_descriptors(std::uint32_t processes, std::size_t hosts) {
  rlimit limit{};
  const rlim_t needed = rlim_t{processes} + hosts + 128;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(limit.rlim_max, needed);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> check_room_for_descriptors(std::uint32_t processes, std::size_t hosts, std::string_view whose) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t open = open_descriptors();
  if (open == 0) return {}; // the store says it later
  const rlim_t agents = hosts == 0 ? 0 : hosts + kForAgents;
  const rlim_t needed = open + processes + agents + kOpenedLater;
  if (needed <= limit.rlim_cur) return {};
  return std::unexpected(Error{.code = ErrorCode::out_of_descriptors,
                               .fact = std::to_string(processes) + " processes" +
                                       (hosts == 0 ? "" : " on " + std::to_string(hosts) + " hosts") + " need " +
                                       std::to_string(needed) + " file descriptors in " + std::string(whose) +
                                       ", the limit is " + std::to_string(limit.rlim_cur),
                               .remedy = "raise the limit on open files (ulimit -n), or start fewer"});
}

} // namespace heddle::base
