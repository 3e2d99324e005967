// Random traffic between all processes of a job, every message checked. Arguments: seed, messages that each process sends,
// bytes of the largest, and "kill" where one process will be killed.
#include "tests/job/member.hpp"
#include "tests/traffic/traffic.hpp"

#include <array>

namespace heddle::tests {
namespace {

void take_part(TrafficPlan plan) {
  const std::string rank = std::getenv("HEDDLE_RANK");
  say("pid " + std::to_string(::getpid()) + " of rank " + rank + " at " + std::getenv("HEDDLE_STORE"));
  plan.told_of_death = [rank](int dead) {
    say("rank " + rank + " saw " + std::to_string(dead) + " fail at " + std::to_string(machine_ns()));
  };
  auto joined = Context::join();
  if (!joined && plan.kill && joined.error().code == ErrorCode::peer_failed) {
    plan.told_of_death(static_cast<int>(joined.error().peer));
    return;
  }
  Context context = demand(std::move(joined), "join");
  if (plan.kill) say("joined " + rank);
  Traffic traffic(context, plan);
  while (traffic.step()) {
  }
  const auto passed = context.barrier();
  if (plan.kill)
    demand(!passed && passed.error().code == ErrorCode::peer_failed, "a barrier with a dead process passed");
  else
    demand(passed, "barrier");
  std::array<Event, 4> events;
  for (std::size_t i = context.poll(events); i > 0; --i) // the others leave
    demand(events[i - 1].kind == Event::Kind::peer_left, "events came after the end");
  if (!plan.kill) traffic.check_figures();
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 4) give_up("arguments: seed messages largest [kill]");
  try {
    take_part({.seed = number(argv[1]),
               .messages = number(argv[2]),
               .largest = number(argv[3]),
               .kill = argc > 4 && std::string_view(argv[4]) == "kill"});
  } catch (const std::exception& wrong) {
    give_up(wrong.what());
  }
  return 0;
}
