#include "collective/exchange_plan.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::collective {

namespace {

// Where messages are spread over several engines, a step for each of them: one alone would leave the others idle.
PlanMessages::Room room_for(const engine::Engine& engine, const Grouping& grouping) {
  constexpr PlanMessages::Room kInsideAMachine{.messages = 1024, .bytes = ~std::uint64_t{0}};
  if (grouping.nodes() == 1) return kInsideAMachine;
  PlanMessages::Room room;
  const std::uint32_t far = grouping.partners(engine.rank(), grouping.widest()).to; // on the next node
  const std::uint32_t engines = far == kNobody ? 1 : engine.planned_engines(far);
  room.bytes *= engines;
  if (engines > 1) room.least = std::size_t{2} * engines; // a step sends and receives
  return room;
}

} // namespace

RingExchange::RingExchange(engine::Engine& engine, Tag tag, const Grouping& grouping, ConstBlockView out, BlockView in)
    : ExchangePlan(engine, tag, room_for(engine, grouping)),
      engine_(engine),
      grouping_(grouping),
      rank_(engine.rank()),
      out_(std::move(out)),
      in_(std::move(in)) {
  const auto from = out_.block(rank_);
  const auto to = in_.block(rank_);
  own_bytes_ = from.size();
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size()); // std::copy becomes a loop of half its speed
  turn_to(1);                                                          // step 0 was this copy
}

void RingExchange::turn_to(std::uint64_t step) {
  next_step_ = step;
  if (!all_started()) next_ = grouping_.partners(rank_, step);
}

std::size_t RingExchange::work() {
  std::size_t steps = messages_.settle();
  for (; !all_started() && may_start(); turn_to(next_step_ + 1), ++steps) start_step();
  return steps;
}

// Connects to one peer at a time: who connects to many at once waits for the many that connect to the same.
bool RingExchange::may_start() const {
  if (messages_.all_ended()) return true;
  if (!messages_.room()) return false;
  const auto unconnected = [this](std::uint32_t rank) { return rank != kNobody && !engine_.connected(rank); };
  return !unconnected(next_.to) && !unconnected(next_.from);
}

// Empty blocks do not travel: both sides know of them.
void RingExchange::start_step() {
  if (next_.from != kNobody)
    if (const auto into = in_.block(next_.from); !into.empty()) messages_.receive(next_.from, into);
  if (next_.to != kNobody)
    if (const auto data = out_.block(next_.to); !data.empty()) messages_.send(next_.to, data);
}

} // namespace heddle::collective
