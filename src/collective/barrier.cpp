#include "collective/barrier.hpp"

#include "engine/fate.hpp"

#include <utility>

namespace heddle::collective {

namespace {

// A round beyond the last of the largest job.
constexpr std::uint32_t kWoundUp = 40;

// A byte that another process wrote.
ErrorCode sound(ErrorCode news) {
  return news > ErrorCode::system_failed ? ErrorCode::connection_lost : news;
}

constexpr Tag tag_of(std::uint64_t number, std::uint32_t round) {
  return Tag{(number << 8U) | round};
}

} // namespace

Barriers::Barriers(engine::Engine& engine) : engine_(engine) {
  // The engine tells of it while it handles something else: what follows from it is left to the next call of progress.
  engine_.handlers().add_end_row(engine::end_row(*this, [](Barriers& self, engine::Connection&, engine::PeerEnd end) {
    if (end.how == engine::End::died) self.failed_ = true;
  }));
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
  *plan = {.request = request, .number = number_};
  running_.push_back(std::move(plan));
  begin_round(*running_.back());
  advance_all();
  return request;
}

void Barriers::begin_round(Plan& plan) {
  const std::uint32_t size = engine_.size();
  const std::uint32_t distance = std::uint32_t{1} << plan.round;
  if (distance >= size) return;
  const Rank to{(engine_.rank() + distance) % size};
  const Rank from{(engine_.rank() + size - distance) % size};
  const Tag tag = tag_of(plan.number, plan.round);
  if ((plan.to_begin & kSend) != 0) plan.news_out = plan.code;
  // A neighbour that is gone is news like any other: the round goes on with those that live, so that all learn of it.
  // What there is no memory for now is tried again: the others wait for it.
  const auto begin = [&plan](Part part, const auto& start, Request& request) {
    if ((plan.to_begin & part) == 0) return;
    const Result<Request> begun = start();
    if (!begun && begun.error().code == ErrorCode::out_of_memory) return;
    plan.to_begin &= ~part;
    if (!begun) plan.code = engine::graver(plan.code, begun.error().code);
    request = begun.value_or(Request{});
  };
  begin(
      kSend,
      [&] {
        return engine_.send({.to = to, .tag = tag, .channel = engine::Channel::collective},
                            ConstLayout(&plan.news_out, 1));
      },
      plan.send);
  begin(
      kReceive,
      [&] {
        return engine_.receive({.source = from, .tag = tag}, Layout(&plan.news_in, 1), {}, engine::Channel::collective);
      },
      plan.receive);
}

bool Barriers::advance(Plan& plan) {
  if ((std::uint32_t{1} << plan.round) >= engine_.size()) return false;
  if (plan.to_begin != 0) begin_round(plan);
  if (plan.to_begin != 0) return false;
  if (!engine_.ended(plan.send) || !engine_.ended(plan.receive)) return false;
  const auto sent = engine_.take_completion(plan.send);
  const auto received = engine_.take_completion(plan.receive);
  for (const ErrorCode news : {sent->code, received->code, sound(std::exchange(plan.news_in, ErrorCode::ok))})
    plan.code = engine::graver(plan.code, news);
  ++plan.round;
  plan.to_begin = kSend | kReceive;
  begin_round(plan);
  return true;
}

void Barriers::finish(Plan& plan, ErrorCode code) {
  engine_.finish_composite(plan.request, code);
  plan.over = true;
}

std::size_t Barriers::end_all() {
  std::size_t ended = 0;
  for (const auto& plan : running_) {
    if (plan->over) continue;
    finish(*plan, ErrorCode::peer_failed);
    engine_.cancel(plan->receive);
    ++ended;
  }
  return ended;
}

// Whether the last messages of a barrier that ended early have ended too.
bool Barriers::wind_up(Plan& plan) {
  if (!engine_.ended(plan.send) || !engine_.ended(plan.receive)) return false;
  engine_.take_completion(plan.send);
  engine_.take_completion(plan.receive);
  return true;
}

std::size_t Barriers::advance_all() {
  std::size_t steps = failed_ ? end_all() + swallower_.swallow() : 0;
  for (std::size_t i = 0; i < running_.size();) {
    Plan& plan = *running_[i];
    if (!plan.over) {
      while (advance(plan)) ++steps;
      if ((std::uint64_t{1} << plan.round) >= engine_.size()) finish(plan, plan.code);
    } else if (wind_up(plan)) {
      plan.round = kWoundUp;
    }
    const bool left = (std::uint64_t{1} << plan.round) < engine_.size();
    if (left) {
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
