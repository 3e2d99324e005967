// One-sided operations between two processes allocate nothing once warm. Arguments: rounds.
#include "tests/job/member.hpp"
#include "tests/traffic/counted_new.hpp"

#include <heddle/onesided.hpp>

#include <array>

namespace heddle::tests {
namespace {

constexpr AreaId kArea{1};
constexpr AreaId kLock{2};

// Whether all of it went well. Says nothing, since saying allocates.
bool round(OneSided& one_sided, Rank peer, std::array<std::byte, 256>& data) {
  Tracker tracker;
  bool well = one_sided.push({peer, kArea, 0}, std::span(data).first(8)) == ErrorCode::ok;
  for (std::uint64_t i = 0; i < 8; ++i) one_sided.push({peer, kArea, i * 256}, data, tracker);
  one_sided.pull({peer, kArea, 512}, data, tracker);
  one_sided.push({peer, kArea, 0}, data, tracker, Selection::strided(8, 8, 16, 32));
  one_sided.mcast(std::span(&peer, 1), kArea, 1024, data, tracker);
  one_sided.atomic({peer, kArea, 2048}, Atomic::add(1), tracker);
  one_sided.atomic({peer, kArea, 2056}, Atomic::bit_xor(3, 4), tracker);
  well = one_sided.wait(tracker) == ErrorCode::ok && well;
  well = one_sided.lock(peer, kLock) == ErrorCode::ok && well;
  return one_sided.unlock(peer, kLock) == ErrorCode::ok && well;
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  auto context = demand(heddle::Context::join(), "join");
  auto& one_sided = context.one_sided();
  const auto memory = demand(one_sided.allocate(kArea, 4096), "allocate");
  demand(one_sided.create_lock(kLock), "create_lock");
  demand(context.barrier(), "barrier");
  const heddle::Rank peer{context.rank() == heddle::Rank{0} ? 1U : 0U};
  std::array<std::byte, 256> data{};
  for (int i = 0; i < 100; ++i) demand(round(one_sided, peer, data), "warming up");
  demand(context.barrier(), "barrier"); // the peer has been served too
  const std::uint64_t rounds = argc > 1 ? number(argv[1]) : 1000;
  const std::size_t before = allocations;
  bool well = true;
  for (std::uint64_t i = 0; i < rounds; ++i) well = round(one_sided, peer, data) && well;
  const std::size_t made = allocations - before;
  demand(well, "an operation failed");
  // No message before both have counted: one that comes early is kept, in memory that is then allocated.
  const std::uint64_t over = 1;
  constexpr std::uint64_t kOver = 4088;
  demand(one_sided.push({peer, kArea, kOver}, std::as_bytes(std::span(&over, 1))) == heddle::ErrorCode::ok, "push");
  demand(one_sided.wait_change(*reinterpret_cast<const std::uint64_t*>(memory.data() + kOver), 0) == over,
         "the other has not ended");
  demand(context.barrier(), "barrier");
  say("allocations " + std::to_string(made));
  return made == 0 ? 0 : 1;
}
