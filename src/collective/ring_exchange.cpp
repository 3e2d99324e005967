#include "collective/exchange_plan.hpp"

#include <algorithm>

namespace heddle::collective {

RingExchange::RingExchange(engine::Engine& engine, Tag tag, const Grouping& grouping, ConstBlockView out, BlockView in)
    : ExchangePlan(engine, tag),
      engine_(engine),
      grouping_(grouping),
      rank_(engine.rank()),
      out_(std::move(out)),
      in_(std::move(in)) {
  const auto from = out_.block(rank_);
  const auto to = in_.block(rank_);
  own_bytes_ = from.size();
  std::ranges::copy(from, to.begin());
}

std::size_t RingExchange::work() {
  std::size_t steps = transfers_.settle();
  for (; !all_started() && may_start(); ++next_step_, ++steps) start_step();
  return steps;
}

// Strangers one at a time: who connects to many at once waits for the many that connect to the same.
bool RingExchange::may_start() const {
  if (transfers_.all_ended()) return true;
  if (!transfers_.room()) return false;
  const Grouping::Partners partners = grouping_.partners(rank_, next_step_);
  const auto stranger = [this](std::uint32_t rank) { return rank != kNobody && !engine_.connected(rank); };
  return !stranger(partners.to) && !stranger(partners.from);
}

// Empty blocks do not travel: both sides know of them.
void RingExchange::start_step() {
  const Grouping::Partners partners = grouping_.partners(rank_, next_step_);
  if (partners.from != kNobody)
    if (const auto into = in_.block(partners.from); !into.empty()) transfers_.receive(partners.from, into);
  if (partners.to != kNobody)
    if (const auto data = out_.block(partners.to); !data.empty()) transfers_.send(partners.to, data);
}

} // namespace heddle::collective
