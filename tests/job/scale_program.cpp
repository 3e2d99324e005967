// Many processes. First argument:
//   few      each talks to three others, and must be connected to just these
//   gather   all send to rank 0, whose memory for rings does not hold one for each
#include "tests/job/member.hpp"

#include <array>
#include <vector>

namespace heddle::tests {
namespace {

void exchange_with_three(Context& context) {
  const auto rank = static_cast<std::uint32_t>(context.rank());
  for (const std::uint32_t distance : {1U, 2U, 4U}) {
    const Rank other{rank ^ distance};
    std::uint64_t in = 0;
    const std::uint64_t out = rank;
    const Request received = demand(context.receive({.source = other, .tag = Tag{1}}, Layout(&in, 8)), "receive");
    const Request sent = demand(context.send(other, Tag{1}, ConstLayout(&out, 8), SendMode::synchronous), "send");
    demand(context.wait(received).code == ErrorCode::ok && context.wait(sent).code == ErrorCode::ok, "exchange");
    demand(in == static_cast<std::uint32_t>(other), "wrong bytes");
  }
}

void few(Context& context) {
  exchange_with_three(context);
  demand(figure(context, "peers connected") == 3,
         std::to_string(figure(context, "peers connected")) + " peers connected");
  exchange_with_three(context); // nobody leaves before these three have looked
}

constexpr std::uint64_t kMessages = 20;
constexpr std::size_t kWords = 32;

void gather(Context& context) {
  const auto rank = static_cast<std::uint32_t>(context.rank());
  if (rank != 0) {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      std::array<std::uint64_t, kWords> out;
      out.fill(rank * kMessages + i);
      const Request sent = demand(context.send(Rank{0}, Tag{1}, out), "send");
      demand(context.wait(sent).code == ErrorCode::ok, "a send failed");
    }
    std::uint64_t word = 0; // all has come: until then nobody leaves
    const Request received = demand(context.receive({.source = Rank{0}}, Layout(&word, 8)), "receive");
    demand(context.wait(received).code == ErrorCode::ok, "the last word did not come");
    return;
  }
  std::vector<std::uint64_t> next(context.size(), 0);
  for (std::uint64_t left = kMessages * (context.size() - 1); left > 0; --left) {
    std::array<std::uint64_t, kWords> in{};
    const Completion got = context.wait(demand(context.receive({.tag = Tag{1}}, in), "receive"));
    const auto from = static_cast<std::uint32_t>(got.peer);
    demand(got.code == ErrorCode::ok, "a receive failed");
    for (const std::uint64_t word : in) demand(word == from * kMessages + next[from], "wrong bytes or order");
    ++next[from];
    demand(figure(context, "ring memory bytes") <= figure(context, "ring memory limit bytes"), "too much ring memory");
  }
  say("peers " + std::to_string(figure(context, "peers connected")) + ", sharing a ring " +
      std::to_string(figure(context, "peers that share a ring")) + ", ring memory " +
      std::to_string(figure(context, "ring memory bytes")));
  demand(figure(context, "peers connected") == context.size() - 1, "not all are connected");
  demand(figure(context, "peers that share a ring") > 0, "nobody shares a ring");
  const std::uint64_t word = 1;
  std::vector<Request> last;
  for (std::uint32_t to = 1; to < context.size(); ++to)
    last.push_back(demand(context.send(Rank{to}, Tag{0}, ConstLayout(&word, 8)), "last word"));
  demand(context.wait_all(last) == ErrorCode::ok, "a last word failed");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  auto context = demand(heddle::Context::join(), "join");
  if (argc > 1 && std::string_view(argv[1]) == "few")
    few(context);
  else
    gather(context);
  return 0;
}
