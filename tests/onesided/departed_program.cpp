// Rank 1 has an area and holds a lock of rank 0's, and leaves in good order. What the others then do with it ends: operations
// on its area with an error, a wait for its lock with the lock.
#include "tests/job/member.hpp"

#include <array>

namespace heddle::tests {
namespace {

constexpr AreaId kArea{1};
constexpr AreaId kLock{2};
constexpr Tag kReady{1};
constexpr Tag kDone{2};

void stay(Context& context) {
  OneSided& one_sided = context.one_sided();
  std::array<std::byte, 8> word{};
  demand(
      context.wait(demand(context.receive({.source = Rank{1}, .tag = kReady}, word), "receive")).code == ErrorCode::ok,
      "no word of rank 1");
  const Place place{Rank{1}, kArea, 0};
  const auto expect_error = [&](ErrorCode code, const std::string& what) {
    demand(code == ErrorCode::peer_left || code == ErrorCode::revoked_area,
           what + " ended with " + std::string(to_string(code)));
  };
  ErrorCode pushed = ErrorCode::ok; // until it has left
  while (pushed == ErrorCode::ok) pushed = one_sided.push(place, word);
  expect_error(pushed, "push");
  expect_error(one_sided.pull(place, word), "pull");
  const auto added = one_sided.atomic(place, Atomic::add(1));
  demand(!added, "an atomic operation on what has left succeeded");
  expect_error(added.error().code, "atomic");
  const std::array both{Rank{1}, context.rank()};
  expect_error(one_sided.mcast(both, kArea, 0, word), "mcast");
  const ErrorCode locked = one_sided.lock(Rank{0}, kLock);
  demand(locked == ErrorCode::holder_died || locked == ErrorCode::ok,
         "the lock ended with " + std::string(to_string(locked)));
  demand(one_sided.unlock(Rank{0}, kLock) == ErrorCode::ok, "unlock");
  // The lock's home stays until the other has had it.
  const auto done = context.rank() == Rank{0} ? context.receive({.source = Rank{2}, .tag = kDone}, word)
                                              : context.send(Rank{0}, kDone, word, SendMode::synchronous);
  demand(context.wait(demand(done, "the last word")).code == ErrorCode::ok, "the last word");
}

} // namespace
} // namespace heddle::tests

int main() {
  using namespace heddle::tests;
  heddle::Context context = demand(heddle::Context::join(), "join");
  demand(context.one_sided().allocate(kArea, 64), "area");
  if (context.rank() == heddle::Rank{0}) demand(context.one_sided().create_lock(kLock), "create_lock");
  demand(context.barrier(), "barrier");
  if (context.rank() != heddle::Rank{1}) {
    stay(context);
    return 0;
  }
  demand(context.one_sided().lock(heddle::Rank{0}, kLock) == heddle::ErrorCode::ok, "lock");
  const std::array<std::byte, 8> word{};
  for (const heddle::Rank to : {heddle::Rank{0}, heddle::Rank{2}})
    demand(context.wait(demand(context.send(to, kReady, word), "send")).code == heddle::ErrorCode::ok, "send");
  return 0;
}
