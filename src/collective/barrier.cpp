#include "collective/barrier.hpp"

#include "engine/fate.hpp"

#include <algorithm>
#include <utility>

namespace heddle::collective {

namespace {

// for utofu: begin
// Beside the code in the byte that the first barrier carries: somebody has no gates.
constexpr std::uint8_t kNoGates = 0x80;
// Looks at a barrier by gates once somebody has gone. If that process had passed the barrier, all signals are on their way already; if not, it
// never ends, and the others go on by messages, by which they learn who has gone.
constexpr std::uint32_t kLooks = 20'000;
// for utofu: end

// A byte that another process wrote.
ErrorCode sound(ErrorCode news) {
  const auto code = static_cast<ErrorCode>(static_cast<std::uint8_t>(news) & ~kNoGates); // for utofu
  return code > ErrorCode::system_failed ? ErrorCode::connection_lost : code;
}
// for utofu: begin
bool lacks_gates(ErrorCode news) {
  return (static_cast<std::uint8_t>(news) & kNoGates) != 0;
}
// for utofu: end

// How a send has ended to one that has left, and needs no message any more: whether it had started this barrier, they learn who wait for its
// own messages. It may have left because of a death, which is graver, and of which they hear.
constexpr bool needs_none(ErrorCode sent) {
  return sent == ErrorCode::peer_left;
}

constexpr Tag tag_of(std::uint64_t number, std::uint32_t round) {
  return Tag{(number << 8U) | round};
}

// The time of a barrier of so many processes. Messages of a round are posted one after the other.
double cost_of(std::uint32_t radix, std::uint32_t processes, const Costs& costs) {
  double cost = 0;
  for (std::uint64_t distance = 1; distance < processes; distance *= radix) {
    const auto partners = std::min<std::uint64_t>(radix - 1, (processes - 1) / distance);
    cost += costs.way_ns + static_cast<double>(partners) * costs.posting_ns;
  }
  return cost;
}

} // namespace

Barriers::Barriers(engine::Engine& engine) : engine_(engine) {
  // The engine tells of it while it handles something else: what follows from it is left to the next call of progress.
  engine_.handlers().add_end_row(engine::end_row(*this, [](Barriers& self, engine::Connection&, engine::PeerEnd end) {
    if (end.how == engine::End::died) self.failed_ = true;
  }));
}

void Barriers::choose_radix(const Costs& costs) {
  for (std::uint32_t radix = 3; radix <= kMostPartners + 1; ++radix)
    if (cost_of(radix, engine_.size(), costs) < cost_of(radix_, engine_.size(), costs)) radix_ = radix;
}

Request Barriers::start(Notify notify) {
  if (!base::Reserve::may_begin()) throw std::bad_alloc();
  running_.reserve(running_.size() + 1); // whatever fails for lack of memory does so before anything has happened
  spare_.reserve(running_.size() + spare_.size() + 2);
  if (spare_.empty()) spare_.push_back(std::make_unique<Plan>());
  const Request request = engine_.begin_composite(notify, engine::OperationKind::barrier);
  ++number_;
  if (failed_) {
    engine_.finish_composite(request, ErrorCode::peer_failed);
    return request;
  }
  auto plan = std::move(spare_.back());
  spare_.pop_back();
  plan->begin(request, number_);
  // for utofu: begin
  if (gates_ == Gates::unset) set_gates();
  if (number_ > 1 && gates_ != Gates::none) plan->by = Plan::By::gates_next;
  // for utofu: end
  running_.push_back(std::move(plan));
  if (running_.back()->by == Plan::By::messages) enter_round(*running_.back());
  advance_all();
  return request;
}

void Barriers::enter_round(Plan& plan) {
  plan.news_out = plan.code;
  // for utofu: begin
  if (plan.number == 1 && (gates_ == Gates::none || some_lack_gates_))
    plan.news_out = static_cast<ErrorCode>(static_cast<std::uint8_t>(plan.code) | kNoGates);
  // for utofu: end
  plan.partners = 0;
  while (plan.partners + 1 < radix_ && (plan.partners + 1) * plan.distance < engine_.size())
    plan.with[plan.partners++].reset();
  std::uint64_t distance = 0;
  for (Partner& partner : plan.all()) {
    distance += plan.distance;
    if (!plan.over) continue;
    // In the barrier that never starts here nobody is connected to for it: where no connection is, no goodbye comes first.
    const auto to = static_cast<std::uint32_t>((engine_.rank() + distance) % engine_.size());
    partner.to_begin = &plan == &next_ && !engine_.connected(to) ? 0 : kSend;
  }
  begin_messages(plan);
}

bool Barriers::enter_next_round(Plan& plan) {
  ++plan.round;
  plan.distance *= radix_;
  enter_round(plan);
  return plan.partners > 0;
}

bool Barriers::begin_messages(Plan& plan) {
  const std::uint64_t size = engine_.size();
  const Tag tag = tag_of(plan.number, plan.round);
  // A neighbour that is gone is news like any other: the round goes on with those that live, so that all learn of it.
  // What there is no memory for now is tried again: the others wait for it.
  const auto begin = [&plan](Partner& partner, Part part, const auto& start, Request& request) {
    if ((partner.to_begin & part) == 0) return;
    const Result<Request> begun = start();
    if (!begun && begun.error().code == ErrorCode::out_of_memory) return;
    partner.to_begin &= ~part;
    if (!begun && !(part == kSend && needs_none(begun.error().code)))
      plan.code = engine::graver(plan.code, begun.error().code);
    request = begun.value_or(Request{});
  };
  bool all = true;
  std::uint64_t distance = 0;
  for (Partner& partner : plan.all()) {
    distance += plan.distance;
    if (partner.to_begin == 0) continue;
    const Rank to{static_cast<std::uint32_t>((engine_.rank() + distance) % size)};
    const Rank from{static_cast<std::uint32_t>((engine_.rank() + size - distance) % size)};
    begin(
        partner, kSend,
        [&] {
          return engine_.send({.to = to, .tag = tag, .channel = engine::Channel::collective},
                              ConstLayout(&plan.news_out, 1));
        },
        partner.send);
    begin(
        partner, kReceive,
        [&] {
          return engine_.receive({.source = from, .tag = tag}, Layout(&partner.news_in, 1), {},
                                 engine::Channel::collective);
        },
        partner.receive);
    all = all && partner.to_begin == 0;
  }
  return all;
}

bool Barriers::messages_ended(Plan& plan) const {
  return std::ranges::all_of(plan.all(), [this](const Partner& partner) {
    return engine_.ended(partner.receive) && engine_.ended(partner.send);
  });
}

bool Barriers::advance(Plan& plan) {
  if (plan.distance >= engine_.size()) return false;
  if (!begin_messages(plan) || !messages_ended(plan)) return false;
  for (Partner& partner : plan.all()) {
    const auto sent = engine_.take_completion(partner.send);
    const auto received = engine_.take_completion(partner.receive);
    some_lack_gates_ = some_lack_gates_ || (plan.number == 1 && lacks_gates(partner.news_in)); // for utofu
    for (const ErrorCode news : {received->code, sound(partner.news_in)}) plan.code = engine::graver(plan.code, news);
    if (partner.send.name != 0 && !needs_none(sent->code)) plan.code = engine::graver(plan.code, sent->code);
  }
  failed_ = failed_ || plan.code == ErrorCode::peer_failed;
  enter_next_round(plan);
  return true;
}

void Barriers::finish(Plan& plan, ErrorCode code) {
  engine_.finish_composite(plan.request, code);
  plan.over = true;
  if (plan.number == 1) settle_gates(plan); // for utofu
}

// for utofu: begin
void Barriers::set_gates() {
  gates_ = Gates::none;
  const std::uint32_t size = engine_.size();
  if (size < 2) return;
  ir::BarrierGates* gates = nullptr;
  const std::uint8_t port = engine_.contact((engine_.rank() + 1) % size).port;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    if (rank == engine_.rank()) continue;
    gates = engine_.queue_to(rank).facets().gates;
    if (gates == nullptr || engine_.contact(rank).port != port) return;
  }
  std::vector<ir::GateRound> rounds;
  for (std::uint64_t distance = 1; distance < size; distance *= 2) {
    const auto to = static_cast<std::uint32_t>((engine_.rank() + distance) % size);
    const auto from = static_cast<std::uint32_t>((engine_.rank() + size - distance) % size);
    rounds.push_back({.to = ir::Peer{to},
                      .from = ir::Peer{from},
                      .to_address = engine_.contact(to).address,
                      .from_address = engine_.contact(from).address});
  }
  if (!gates->set_gates(rounds)) return;
  network_ = gates;
  gates_ = Gates::set;
}

void Barriers::settle_gates(const Plan& first) {
  if (gates_ == Gates::set) gates_ = some_lack_gates_ || first.code != ErrorCode::ok ? Gates::none : Gates::ready;
}

bool Barriers::advance_gates(Plan& plan) {
  if (gates_ == Gates::set || (gates_ == Gates::ready && plan.number != next_by_gates_)) return false;
  if (gates_ == Gates::ready && plan.by == Plan::By::gates_next && engine_.gone() == 0 && network_->begin_barrier())
    plan.by = Plan::By::gates;
  if (plan.by == Plan::By::gates && network_->barrier_ended()) {
    ++next_by_gates_;
    plan.distance = engine_.size();
    return true;
  }
  if (gates_ == Gates::ready && (engine_.gone() == 0 || (plan.by == Plan::By::gates && ++looks_ < kLooks)))
    return false;
  gates_ = Gates::none;
  plan.by = Plan::By::messages;
  enter_round(plan);
  return true;
}
// for utofu: end

std::size_t Barriers::end_all() {
  std::size_t ended = 0;
  for (const auto& plan : running_) {
    if (plan->over) continue;
    give_up(*plan);
    ++ended;
  }
  if (passed_on_) return ended;
  if (!next_.over) {
    next_.begin({}, number_ + 1);
    next_.code = ErrorCode::peer_failed;
    next_.over = true;
    enter_round(next_);
    ++ended;
  }
  passed_on_ = wind_up(next_);
  return ended;
}

void Barriers::give_up(Plan& plan) {
  plan.code = ErrorCode::peer_failed;
  finish(plan, plan.code);
  for (Partner& partner : plan.all()) {
    engine_.cancel(partner.receive);
    partner.to_begin &= kSend;
  }
  // for utofu: begin
  if (plan.by == Plan::By::messages) return;
  plan.by = Plan::By::messages; // by which those go on who look in vain for a signal of this process
  enter_round(plan);
  // for utofu: end
}

// Whether a barrier that ended early has nothing more to say, and its last messages have ended too.
bool Barriers::wind_up(Plan& plan) {
  while (begin_messages(plan) && messages_ended(plan)) {
    for (Partner& partner : plan.all()) {
      engine_.take_completion(partner.send);
      engine_.take_completion(partner.receive);
    }
    if (!enter_next_round(plan)) return true;
  }
  return false;
}

std::size_t Barriers::advance_all() {
  std::size_t steps = failed_ ? end_all() + swallower_.swallow() : 0;
  for (std::size_t i = 0; i < running_.size();) {
    Plan& plan = *running_[i];
    bool gone = plan.over && wind_up(plan);
    if (!plan.over && plan.by != Plan::By::messages && advance_gates(plan)) ++steps; // for utofu
    if (!plan.over && (plan.by == Plan::By::messages || plan.distance >= engine_.size())) {
      while (advance(plan)) ++steps;
      gone = plan.distance >= engine_.size();
      if (gone) finish(plan, plan.code);
    }
    if (!gone) {
      ++i;
      continue;
    }
    spare_.push_back(std::move(running_[i]));
    running_[i] = std::move(running_.back());
    running_.pop_back();
    ++steps;
  }
  return steps;
}

} // namespace heddle::collective
