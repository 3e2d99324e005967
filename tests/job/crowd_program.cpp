// More processes than cores: barriers, a ring of messages, all to all, timed. Argument: rounds. Rank 0 prints.
#include "tests/job/member.hpp"

#include <functional>
#include <vector>

namespace heddle::tests {
namespace {

void measure(Context& context, const char* name, std::uint64_t rounds, const std::function<void()>& round) {
  for (std::uint64_t i = 0; i < 3; ++i) round();
  demand(context.barrier(), "barrier");
  const std::uint64_t start = machine_ns();
  for (std::uint64_t i = 0; i < rounds; ++i) round();
  const std::uint64_t each = (machine_ns() - start) / rounds;
  if (context.rank() == Rank{0})
    say(std::string(name) + ": " + std::to_string(each / 1000) + "." + std::to_string(each / 100 % 10) + " us");
  demand(context.barrier(), "barrier");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  using heddle::Layout, heddle::ConstLayout, heddle::Rank, heddle::Request, heddle::Tag, heddle::ErrorCode;
  const std::uint64_t rounds = argc > 1 ? number(argv[1]) : 1000;
  auto context = demand(heddle::Context::join(), "join");
  const auto rank = static_cast<std::uint32_t>(context.rank());
  const std::uint32_t size = context.size();
  std::vector<std::uint64_t> in(size);
  const std::uint64_t out = rank;

  measure(context, "barrier", rounds, [&] { demand(context.barrier(), "barrier"); });
  measure(context, "exchange with neighbours", rounds, [&] {
    const Rank next{(rank + 1) % size};
    const Rank before{(rank + size - 1) % size};
    const Request received = demand(context.receive({.source = before, .tag = Tag{1}}, Layout(&in[0], 8)), "receive");
    const Request sent = demand(context.send(next, Tag{1}, ConstLayout(&out, 8)), "send");
    demand(context.wait(received).code == ErrorCode::ok && context.wait(sent).code == ErrorCode::ok, "exchange");
    demand(in[0] == static_cast<std::uint32_t>(before), "wrong bytes");
  });
  // A token goes once around: every step needs one process only, the others wait.
  measure(context, "token once around", rounds / 10 + 1, [&] {
    const Rank next{(rank + 1) % size};
    const Rank before{(rank + size - 1) % size};
    if (rank == 0)
      demand(context.wait(*context.send(next, Tag{2}, ConstLayout(&out, 8))).code == ErrorCode::ok, "send");
    demand(context.wait(*context.receive({.source = before, .tag = Tag{2}}, Layout(&in[0], 8))).code == ErrorCode::ok,
           "receive");
    if (rank != 0)
      demand(context.wait(*context.send(next, Tag{2}, ConstLayout(&out, 8))).code == ErrorCode::ok, "send");
  });
  measure(context, "all to all", rounds / 10 + 1, [&] {
    std::vector<Request> all;
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      all.push_back(demand(context.receive({.source = Rank{peer}, .tag = Tag{3}}, Layout(&in[peer], 8)), "receive"));
      all.push_back(demand(context.send(Rank{peer}, Tag{3}, ConstLayout(&out, 8)), "send"));
    }
    demand(context.wait_all(all) == ErrorCode::ok, "all to all");
    for (std::uint32_t peer = 0; peer < size; ++peer) demand(in[peer] == peer, "wrong bytes");
  });
  return 0;
}
