#include "store/generations.hpp"

#include <iterator>

namespace heddle::store {

Generations::Generations(std::uint32_t size, std::string job) : job_(std::move(job)), ended_(size, Presence::expected) {
  ledgers_.emplace_back(size, job_);
}

std::optional<std::uint32_t> Generations::who_says_hello(const Frame& frame) const {
  if (frame.kind != Kind::hello) return std::nullopt;
  BodyReader reader(frame.body);
  reader.u32(); // the version
  const auto rank = reader.u32();
  return rank && *rank < size() ? rank : std::nullopt;
}

std::size_t Generations::last_of(std::uint32_t rank) const {
  std::size_t generation = ledgers_.size() - 1;
  while (generation > 0 && ledgers_[generation].presence(rank) == Presence::expected) --generation;
  return generation;
}

std::size_t Generations::of(ClientId client) const {
  std::size_t generation = ledgers_.size() - 1;
  for (std::size_t i = 0; i < ledgers_.size(); ++i)
    if (ledgers_[i].rank_of(client)) generation = i;
  return generation;
}

bool Generations::may_go_on(std::uint32_t rank) const {
  const Ledger& last = ledgers_[last_of(rank)];
  return last.presence(rank) == Presence::left && last.complete();
}

bool Generations::precedes_first(const Frame& hello) const {
  const auto rank = who_says_hello(hello);
  return rank && may_go_on(*rank) && last_of(*rank) >= last_of(0) && *rank != 0;
}

std::size_t Generations::to_join(std::uint32_t rank) {
  const std::size_t last = last_of(rank);
  if (!may_go_on(rank)) return last;
  if (last + 1 == ledgers_.size()) {
    Ledger& next = ledgers_.emplace_back(size(), job_);
    Answers none; // nobody has joined it yet
    for (std::uint32_t each = 0; each < size(); ++each) {
      if (ended_[each] != Presence::expected) next.declare(each, ended_[each], none);
      if (ledgers_[last].presence(each) == Presence::failed) next.declare(each, Presence::failed, none);
    }
  }
  return last + 1;
}

Result<void> Generations::receive(ClientId client, const Frame& frame, Answers& answers) {
  const auto newcomer =
      of(client) == ledgers_.size() - 1 && !ledgers_.back().rank_of(client) ? who_says_hello(frame) : std::nullopt;
  const std::size_t generation = newcomer ? to_join(*newcomer) : of(client);
  const auto rank = ledgers_[generation].rank_of(client);
  auto received = ledgers_[generation].receive(client, frame, answers);
  if (rank) pass_on_failure(generation, *rank, answers);
  drop_deserted();
  return received;
}

void Generations::expel(ClientId client, Answers& answers) {
  const std::size_t generation = of(client);
  const auto rank = ledgers_[generation].rank_of(client);
  ledgers_[generation].expel(client, answers);
  if (rank) pass_on_failure(generation, *rank, answers);
}

void Generations::pass_on_failure(std::size_t generation, std::uint32_t rank, Answers& answers) {
  if (ledgers_[generation].presence(rank) != Presence::failed) return;
  for (std::size_t later = generation + 1; later < ledgers_.size(); ++later)
    ledgers_[later].declare(rank, Presence::failed, answers);
}

void Generations::disconnected(ClientId client) {
  for (Ledger& ledger : ledgers_) ledger.disconnected(client);
}

void Generations::declare(std::uint32_t rank, Presence gone, Answers& answers) {
  if (rank >= size()) return;
  ended_[rank] = gone;
  for (Ledger& ledger : ledgers_) ledger.declare(rank, gone, answers);
  drop_deserted();
}

std::vector<Stall> Generations::take_stalls() {
  std::vector<Stall> all;
  for (Ledger& ledger : ledgers_) {
    auto some = ledger.take_stalls();
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return all;
}

std::optional<Abort> Generations::take_abort() {
  for (Ledger& ledger : ledgers_)
    if (auto abort = ledger.take_abort()) return abort;
  return std::nullopt;
}

void Generations::drop_deserted() {
  while (ledgers_.size() > 1 && ledgers_.front().deserted()) ledgers_.pop_front();
}

} // namespace heddle::store
