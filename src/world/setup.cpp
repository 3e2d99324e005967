#include "world/setup.hpp"

#include "base/refusal.hpp"
#include "base/size_text.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heddle::simulation {

namespace {

// Beyond this a command is hardly ever taken; at 1 no run would end.
constexpr double kMostShortCounts = 0.99;

Result<void> check_chance(const char* name, double chance, double most) {
  if (chance >= 0 && chance <= most) return {}; // no number is neither
  std::string expected = std::to_string(most);
  expected.erase(expected.find_last_not_of(".0") + 1);
  return refuse("the chance faults." + std::string(name) + " cannot be " + std::to_string(chance) + ": expected 0 to " +
                expected);
}

Result<void> check_time(const std::string& what, Time at) {
  if (at >= Time::zero()) return {};
  return refuse(what + " at " + std::to_string(at.count()) + " ps: expected a time from 0 on");
}

std::uint64_t memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
                                              : std::numeric_limits<std::uint64_t>::max();
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
  return bytes;
}

} // namespace

Result<void> check_setup(const Setup& setup) {
  if (setup.peers_per_node == 0) return refuse("no peer on any node", "give at least 1 per node");
  const Setup::Faults& faults = setup.faults;
  if (auto good = check_chance("short_count", faults.short_count, kMostShortCounts); !good) return good;
  for (const auto& [name, chance] :
       {std::pair("delay_command", faults.delay_command), std::pair("delay_event", faults.delay_event),
        std::pair("reorder_events", faults.reorder_events), std::pair("refuse_reads", faults.refuse_reads)})
    if (auto good = check_chance(name, chance, 1); !good) return good;
  for (const Setup::Death& death : setup.deaths)
    if (auto good = check_time("rank " + std::to_string(static_cast<std::uint32_t>(death.rank)) + " dies", death.at);
        !good)
      return good;
  for (const Setup::CableChange& change : setup.cables)
    if (auto good = check_time("cable " + std::to_string(change.cable) + " changes", change.at); !good) return good;
  return {};
}

Result<void> check_memory(const std::string& what, std::uint64_t bytes) {
  const std::uint64_t there = memory_of_machine();
  if (bytes <= there) return {};
  constexpr std::uint64_t kMiB = 1 << 20;
  return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                               .fact = what + " need at least " + base::print_size(bytes / kMiB * kMiB) +
                                       " of memory, there are " + base::print_size(there / kMiB * kMiB),
                               .remedy = "simulate fewer processes, or smaller messages"});
}

std::uint64_t least_memory(std::uint64_t peers) {
  constexpr std::uint64_t kOfAPair = 56;        // a contact and a pointer to its link
  constexpr std::uint64_t kOfAProcess = 16'000; // bootstrap memory and tables
  if (peers > std::uint64_t{1} << 28U) return std::numeric_limits<std::uint64_t>::max();
  return peers * (peers * kOfAPair + kOfAProcess);
}

} // namespace heddle::simulation
