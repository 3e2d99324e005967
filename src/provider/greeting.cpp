// Greetings: connections are begun before something depends on them.
#include "provider/endpoint.hpp"

#include <chrono>

namespace heddle::provider {

namespace {

// An address vector with more is left alone: its program may never talk to most of them.
constexpr std::size_t kMostGreeted = 32;
// A peer that makes no progress is waited for so long in all; then what is injected for it is kept here until it does.
constexpr std::uint64_t kPatienceNs = 1'000'000'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

} // namespace

void Endpoint::greet(Rank rank) {
  Acquaintance& peer = acquaintances_[static_cast<std::uint32_t>(rank)];
  if (peer.greeted) return;
  peer.greeted = true;
  if (rank == context->rank()) {
    peer.reached = true;
    return;
  }
  static constexpr Control kGreeting{.kind = ControlKind::greeting};
  Operation& operation = take(Operation::Kind::greeting);
  operation.peer = rank;
  const auto sent = context->send(
      rank, Tag{kControlTag}, ConstLayout(&kGreeting, sizeof kGreeting),
      SendOptions{.notify = Notify::event(reinterpret_cast<std::uint64_t>(&operation)), .channel = Channel::second});
  if (sent) return;
  give_back(operation);
  acquaintances_[static_cast<std::uint32_t>(rank)].reached = true; // whatever is sent next says why not
}

void Endpoint::greet(fi_addr_t address) {
  Rank rank{};
  if (addresses->names.size() <= kMostGreeted && rank_of(address, rank) == 0) greet(rank);
}

void Endpoint::greet_all() {
  for (fi_addr_t address = 0; address < addresses->names.size(); ++address)
    if (addresses->names[address]) greet(address);
}

bool Endpoint::is_reached(Rank to) {
  const auto number = static_cast<std::uint32_t>(to);
  if (acquaintances_[number].reached) [[likely]]
    return true;
  greet(to);
  progress();
  return acquaintances_[number].reached;
}

bool Endpoint::is_patient_with(Rank to) {
  std::uint64_t& since = acquaintances_[static_cast<std::uint32_t>(to)].since_ns;
  if (since == 0) since = now_ns();
  return now_ns() - since < kPatienceNs;
}

} // namespace heddle::provider
