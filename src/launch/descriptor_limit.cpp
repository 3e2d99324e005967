#include "launch/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

namespace heddle::launch {

namespace {
// By the launcher itself while the job runs, for a moment: looks into /proc, the connection of a process that comes again.
constexpr rlim_t kOpenedLater = 8;
constexpr rlim_t kForAgents = 4; // the door by which they come, and what is ready
} // namespace

void make_room_for_descriptors(std::uint32_t processes, std::size_t hosts) {
  rlimit limit{};
  const rlim_t needed = rlim_t{processes} + hosts + 128;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(limit.rlim_max, needed);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> check_room_for_descriptors(std::uint32_t processes, std::size_t hosts) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  rlim_t open = 0;
  std::error_code none; // without /proc the store says it later
  for (std::filesystem::directory_iterator each("/proc/self/fd", none), end; each != end; each.increment(none)) ++open;
  if (open == 0) return {};
  const rlim_t agents = hosts == 0 ? 0 : hosts + kForAgents;
  const rlim_t needed = open - 1 + processes + agents + kOpenedLater; // the iterator had one too
  if (needed <= limit.rlim_cur) return {};
  return std::unexpected(Error{.code = ErrorCode::out_of_descriptors,
                               .fact = std::to_string(processes) + " processes" +
                                       (hosts == 0 ? "" : " on " + std::to_string(hosts) + " hosts") + " need " +
                                       std::to_string(needed) + " file descriptors in the launcher, the limit is " +
                                       std::to_string(limit.rlim_cur),
                               .remedy = "raise the limit on open files (ulimit -n), or start fewer"});
}

} // namespace heddle::launch
