// Rank 1 has an area, holds a lock of rank 0's, and is killed. Rank 0 makes one call every few milliseconds, always the same, which
// ends at once, and nothing else: it must find out all the same. Argument: push, pull, atomic or try.
#include "tests/job/member.hpp"

#include <heddle/onesided.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

namespace heddle::tests {
namespace {

constexpr AreaId kArea{1};
constexpr AreaId kLock{2};
constexpr Place kPlace{Rank{1}, kArea, 0};

ErrorCode call(OneSided& one_sided, const std::string& what) {
  std::array<std::byte, 8> word{};
  Tracker tracker;
  if (what == "push")
    one_sided.push(kPlace, word, tracker);
  else if (what == "pull")
    one_sided.pull(kPlace, word, tracker);
  else if (what == "atomic")
    one_sided.atomic(kPlace, Atomic::add(1), tracker);
  else if (what == "try")
    one_sided.try_lock(Rank{0}, kLock, tracker);
  else
    give_up("arguments: push, pull, atomic or try");
  return one_sided.wait(tracker); // has ended already where all goes in direct memory
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  using heddle::ErrorCode;
  const std::string what = argc > 1 ? argv[1] : "";
  heddle::Context context = demand(heddle::Context::join(), "join");
  heddle::OneSided& one_sided = context.one_sided();
  const bool stays = context.rank() == heddle::Rank{0};
  demand(one_sided.allocate(kArea, 64), "area");
  if (stays) demand(one_sided.create_lock(kLock), "create_lock");
  demand(context.barrier(), "barrier");
  if (!stays) demand(one_sided.lock(heddle::Rank{0}, kLock) == ErrorCode::ok, "lock");
  demand(context.barrier(), "barrier");
  const ErrorCode usual = what == "try" ? ErrorCode::lock_busy : ErrorCode::ok;
  if (stays) demand(call(one_sided, what) == usual, "the first call"); // with the area's key in hand all goes by itself
  demand(context.barrier(), "barrier");
  if (!stays) ::raise(SIGKILL);
  constexpr int kCalls = 1000;
  constexpr std::chrono::milliseconds kPace{5};
  ErrorCode code = usual;
  for (int calls = 0; calls < kCalls && code == usual; ++calls) {
    std::this_thread::sleep_for(kPace);
    code = call(one_sided, what);
  }
  const ErrorCode expected = what == "try" ? ErrorCode::holder_died : ErrorCode::peer_failed;
  demand(code == expected, what + " ended with " + std::string(to_string(code)));
  say("found out");
}
