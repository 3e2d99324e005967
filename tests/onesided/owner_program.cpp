// Operations on areas of rank 1 that rank 0 cannot map, as the argument says:
//   killed  because rank 1 is dead, of which nobody has told yet
//   memory  because rank 0 has no memory for it
#include "tests/job/member.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <vector>

namespace heddle::tests {
namespace {

constexpr std::uint64_t kAreas = 64;
constexpr std::size_t kBytes = 64 << 20;
constexpr Tag kProcess{1};
constexpr Tag kAsked{2};

void demand_code(ErrorCode code, std::initializer_list<ErrorCode> expected, const std::string& what) {
  demand(std::ranges::find(expected, code) != expected.end(), what + " ended with " + std::string(to_string(code)));
}

std::uint64_t pages_of(std::uint64_t process) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/" + std::to_string(process) + "/statm") >> pages;
  return pages;
}

// The keys are asked for, and given, before the owner dies; this process sees them after. The owner does not call the library,
// and so gives none, before it is sent the signal.
void outlive(Context& context) {
  OneSided& one_sided = context.one_sided();
  std::uint64_t process = 0;
  demand(context.wait(demand(context.receive({.source = Rank{1}, .tag = kProcess}, Layout(&process, 8)), "receive"))
                 .code == ErrorCode::ok,
         "no word of rank 1");
  std::array<std::byte, 8> word{};
  std::vector<Tracker> trackers(kAreas);
  for (std::uint64_t i = 0; i < kAreas; i += 2) one_sided.push({Rank{1}, AreaId{i}, 0}, word, trackers[i]);
  for (std::uint64_t i = 1; i < kAreas; i += 2) one_sided.pull({Rank{1}, AreaId{i}, 0}, word, trackers[i]);
  static_cast<void>(demand(context.send(Rank{1}, kAsked, word, SendMode::standard, Notify::event(0)), "send"));
  static_cast<void>(context.poll({})); // whatever is still to be written leaves
  ::kill(static_cast<pid_t>(process), SIGUSR1);
  while (pages_of(process) > 0) {
  }
  for (const Tracker& tracker : trackers) // the first may have been answered before the owner stopped calling
    demand_code(one_sided.wait(tracker), {ErrorCode::ok, ErrorCode::peer_failed}, "an operation");
  const auto added = one_sided.atomic({Rank{1}, AreaId{kAreas}, 0}, Atomic::add(1));
  demand(!added, "an atomic operation on what is dead succeeded");
  demand_code(added.error().code, {ErrorCode::peer_failed}, "atomic");
}

void limit_address_space(rlim_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  demand(::setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
}

void lack_memory(Context& context) {
  OneSided& one_sided = context.one_sided();
  std::array<std::byte, 8> word{};
  const Place place{Rank{1}, AreaId{0}, 0};
  const auto own = static_cast<std::uint64_t>(::getpid());
  limit_address_space(pages_of(own) * 4096 + kBytes / 2);
  demand_code(one_sided.push(place, word), {ErrorCode::out_of_memory}, "push");
  demand_code(one_sided.pull(place, word), {ErrorCode::out_of_memory}, "pull");
  const auto added = one_sided.atomic(place, Atomic::add(1));
  demand(!added && added.error().code == ErrorCode::out_of_memory, "an atomic operation did not lack memory");
  limit_address_space(RLIM_INFINITY);
  demand_code(one_sided.push(place, word), {ErrorCode::ok}, "push with memory");
  demand(one_sided.atomic(place, Atomic::add(1)), "an atomic operation with memory");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  heddle::Context context = demand(heddle::Context::join(), "join");
  const bool killed = argc == 2 && std::string(argv[1]) == "killed";
  const bool owns = context.rank() == heddle::Rank{1};
  for (std::uint64_t i = 0; owns && i < (killed ? kAreas + 1 : 1); ++i)
    demand(context.one_sided().allocate(heddle::AreaId{i}, killed ? 64 : kBytes), "area");
  demand(context.barrier(), "barrier");
  if (!killed) {
    if (!owns) lack_memory(context);
    demand(context.barrier(), "barrier");
    return 0;
  }
  if (!owns) {
    outlive(context);
    return 0;
  }
  sigset_t go_on;
  ::sigemptyset(&go_on);
  ::sigaddset(&go_on, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &go_on, nullptr);
  const auto process = static_cast<std::uint64_t>(::getpid());
  std::array<std::byte, 8> word{};
  demand(context.wait(demand(context.send(heddle::Rank{0}, kProcess, heddle::ConstLayout(&process, 8)), "send")).code ==
             heddle::ErrorCode::ok,
         "send");
  int signal = 0;
  ::sigwait(&go_on, &signal);
  // The word follows the questions, so that they have been answered when it is here.
  demand(context.wait(demand(context.receive({.source = heddle::Rank{0}, .tag = kAsked}, word), "receive")).code ==
             heddle::ErrorCode::ok,
         "receive");
  ::kill(::getpid(), SIGKILL);
}
