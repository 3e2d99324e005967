// Patterns between processes. Arguments: "halo BYTES ROUNDS" or "strided BYTES ROUNDS": a periodic halo, every byte checked, the
// second with barriers and into strided memory; "death": the last rank dies
// while the others wait for it in a start.
#include "tests/job/member.hpp"
#include "tests/traffic/halo.hpp"

#include <heddle/heddle.hpp>

#include <algorithm>
#include <csignal>
#include <vector>

namespace heddle::tests {
namespace {

void halo(Context& context, std::uint64_t bytes, std::uint64_t rounds, bool strided) {
  const std::uint32_t size = context.size();
  const auto own = static_cast<std::uint32_t>(context.rank());
  const Grid grid{.size = {1, size}, .periodic = {true, true}, .ranks = {}};
  HaloMemory memory(bytes, strided);
  Pattern pattern =
      demand(Pattern::neighbour_alltoall(context, grid, memory.exchanges, {.barriers = strided}), "pattern");
  demand(pattern.compile(), "compile");
  for (std::uint64_t round = 0; round < rounds; ++round) {
    memory.fill(own, round);
    demand(pattern.start(), "start");
    demand(pattern.wait(), "wait");
    for (std::size_t i = 0; i < memory.in.size(); ++i) {
      const auto from = (own + size + static_cast<std::uint32_t>(memory.exchanges[i].offset[1])) % size;
      demand(memory.received(i) == halo_block(from, memory.in.size() - 1 - i, round, bytes), "wrong data");
    }
  }
  demand(pattern.free(), "free");
}

void death(Context& context) {
  const auto own = static_cast<std::uint32_t>(context.rank());
  const std::uint32_t last = context.size() - 1;
  std::vector<std::byte> out(1000);
  std::vector<std::vector<std::byte>> in(context.size(), std::vector<std::byte>(1000));
  Pattern pattern = demand(Pattern::create(context), "pattern");
  Pattern::Item from_last = 0;
  for (std::uint32_t other = 0; other < context.size(); ++other) {
    if (other == own) continue;
    demand(pattern.send(Rank{other}, Tag{1}, ConstLayout(out)), "send");
    const auto received = demand(pattern.receive(Rank{other}, Tag{1}, Layout(in[other])), "receive");
    if (other == last) from_last = received;
  }
  demand(pattern.compile(), "compile");
  demand(pattern.start(), "start");
  demand(pattern.wait(), "wait");
  if (own == last) ::raise(SIGKILL);
  demand(pattern.start(), "second start");
  const auto ended = pattern.wait();
  demand(!ended && ended.error().code == ErrorCode::peer_failed, "the start did not end with the death");
  const auto incomplete = pattern.incomplete();
  demand(std::ranges::find(incomplete, from_last) != incomplete.end(), "the dead one's message counts as received");
  demand(!pattern.start(), "it starts again");
  say("told " + std::to_string(incomplete.size()));
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  auto context = demand(heddle::Context::join(), "join");
  const std::string_view what = argc > 1 ? argv[1] : "";
  if ((what == "halo" || what == "strided") && argc == 4)
    halo(context, number(argv[2]), number(argv[3]), what == "strided");
  else if (what == "death")
    death(context);
  else
    give_up("usage: halo BYTES ROUNDS, strided BYTES ROUNDS, or death");
}
