#include "base/free_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace heddle::base {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The only number of a file; none where it says "max" or is not there.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

// The number after a name in a file of such lines.
std::optional<std::uint64_t> number_after(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t number = 0;
  while (file >> word)
    if (word == name) return file >> number ? std::optional(number) : std::nullopt;
  return std::nullopt;
}

std::uint64_t difference(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

struct GroupFiles { // as the two versions of control groups name them
  const char* limit;
  const char* used;
  const char* cache; // in memory.stat: given back by the kernel when others need it
};
constexpr GroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"/memory.max", "/memory.current", "inactive_file"};

// The limits of a group and of all those that it lies in. In a container the path may be the host's: then only the top is seen.
std::uint64_t left_by_groups(const std::string& top, std::string path, const GroupFiles& files) {
  std::uint64_t left = kUnlimited;
  for (;;) {
    const std::string group = top + path;
    const auto limit = number_in(group + files.limit);
    const auto used = number_in(group + files.used);
    if (limit && used)
      left = std::min(
          left, difference(*limit, difference(*used, number_after(group + "/memory.stat", files.cache).value_or(0))));
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return left;
    path.resize(slash);
  }
}

std::uint64_t left_by_groups(const std::string& root) {
  std::uint64_t left = kUnlimited;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) { // 4:memory:/path, or 0::/path
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == "memory")
      left = std::min(left, left_by_groups(root + "/sys/fs/cgroup/memory", path, kVersion1));
    else if (controllers.empty())
      left = std::min(left, left_by_groups(root + "/sys/fs/cgroup", path, kVersion2));
  }
  return left;
}

std::uint64_t left_by_address_space(const std::string& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const std::uint64_t pages = number_in(root + "/proc/self/statm").value_or(0);
  return difference(limit.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

std::uint64_t left_by_machine(const std::string& root) {
  constexpr std::uint64_t kKibi = 1024;
  const auto available = number_after(root + "/proc/meminfo", "MemAvailable:");
  return available ? *available * kKibi : kUnlimited;
}

} // namespace

std::uint64_t free_memory(const std::string& root) {
  return std::min({left_by_address_space(root), left_by_groups(root), left_by_machine(root)});
}

bool memory_suffices(std::uint64_t bytes) {
  constexpr std::uint64_t kShareOfOthers = 16;
  const std::uint64_t left = free_memory();
  return bytes <= left - left / kShareOfOthers;
}

} // namespace heddle::base
