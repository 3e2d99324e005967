// All-to-all of random sizes between real processes, checked against what the seed says. Arguments: seed, rounds, largest block.
#include "tests/job/member.hpp"
#include "tests/traffic/exchange.hpp"

#include <array>

namespace heddle::tests {
namespace {

// By request, by event, and two at once.
void exchange(Context& context, const ExchangeModel& model, std::uint64_t rounds) {
  const auto rank = static_cast<std::uint32_t>(context.rank());
  for (std::uint64_t number = 0; number < rounds; number += 2) {
    ExchangeRound first(model, number, rank);
    ExchangeRound second(model, number + 1, rank);
    const Request by_request = demand(first.start(context), "start");
    demand(second.start(context, Notify::event(number)), "start");
    const Completion completion = context.wait(by_request);
    demand(completion.code == ErrorCode::ok, std::string(to_string(completion.code)));
    demand(completion.bytes == first.expected_bytes(), "bytes received are counted wrongly");
    std::array<Event, 1> events;
    while (context.wait_events(events, std::chrono::seconds(60)) == 0) give_up(context.waiting_for());
    demand(events[0].kind == Event::Kind::exchanged && events[0].cookie == number, "another event");
    demand(events[0].completion.code == ErrorCode::ok, "an all-to-all failed");
    demand(first.verdict().empty(), first.verdict());
    demand(second.verdict().empty(), second.verdict());
  }
  demand(context.barrier(), "barrier");
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 4) give_up("arguments: seed rounds largest");
  auto context = demand(heddle::Context::join(), "join");
  exchange(context, {.seed = number(argv[1]), .size = context.size(), .largest = number(argv[3])}, number(argv[2]));
  return 0;
}
