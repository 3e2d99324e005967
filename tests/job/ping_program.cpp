// Ping-pong between ranks 0 and 1: the argument says how many round trips. Counts the allocations of all after the first
// thousand, and ends with 1 where there was one.
#include "tests/job/member.hpp"
#include "tests/traffic/counted_new.hpp"

#include <array>

namespace heddle::tests {
namespace {

void round_trip(Context& context, std::uint64_t round) {
  const bool first = context.rank() == Rank{0};
  const Rank other{first ? 1U : 0U};
  std::array<std::uint64_t, 2> in{};
  const std::array<std::uint64_t, 2> out{round, ~round};
  const auto send = [&] { return context.wait(*context.send(other, Tag{7}, out)).code; };
  if (first && send() != ErrorCode::ok) give_up("a send failed");
  const Completion completion = context.wait(*context.receive({.source = other, .tag = Tag{7}}, in));
  if (!first && send() != ErrorCode::ok) give_up("a send failed");
  if (completion.code != ErrorCode::ok || in != out) give_up("round trip " + std::to_string(round) + " went wrong");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  auto context = demand(heddle::Context::join(), "join");
  for (std::uint64_t round = 0; round < 1000; ++round) round_trip(context, round);
  const std::uint64_t rounds = argc > 1 ? number(argv[1]) : 1000;
  const std::size_t before = allocations;
  for (std::uint64_t round = 0; round < rounds; ++round) round_trip(context, round);
  const std::size_t made = allocations - before;
  demand(context.barrier(), "barrier");
  say("allocations " + std::to_string(made));
  return made == 0 ? 0 : 1;
}
