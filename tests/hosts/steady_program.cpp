// A job that goes on until rank 0's standard input ends: rounds in which everybody hears from everybody. Says how many.
#include "tests/job/member.hpp"

#include <poll.h>

#include <vector>

namespace heddle::tests {
namespace {

bool input_has_ended() {
  pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&entry, 1, 0) == 1 && ::read(STDIN_FILENO, &byte, 1) == 0;
}

void go_on(Context& context) {
  const auto rank = static_cast<std::uint32_t>(context.rank());
  std::uint64_t rounds = 0;
  for (std::uint64_t over = 0; over == 0; ++rounds) {
    const std::uint64_t own = rank == 0 && input_has_ended() ? 1 : 0;
    std::vector<std::uint64_t> heard(context.size());
    std::vector<Request> requests;
    for (std::uint32_t other = 0; other < context.size(); ++other) {
      if (other == rank) continue;
      requests.push_back(
          demand(context.receive({.source = Rank{other}, .tag = Tag{1}}, Layout(&heard[other], 8)), "receive"));
      requests.push_back(demand(context.send(Rank{other}, Tag{1}, ConstLayout(&own, 8)), "send"));
    }
    demand(context.wait_all(requests) == ErrorCode::ok, "a round failed");
    over = rank == 0 ? own : heard[0];
    if (rank == 0 && rounds == 0) say("steady");
  }
  demand(context.barrier(), "barrier");
  if (rank == 0) say(std::to_string(rounds) + " rounds");
}

} // namespace
} // namespace heddle::tests

int main() {
  auto context = heddle::tests::demand(heddle::Context::join(), "join");
  heddle::tests::go_on(context);
  return 0;
}
