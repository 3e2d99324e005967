// Processes that find each other without a job: who has attached this one, and whether those still live.
#include "translators/verbs/records.hpp"
#include "translators/verbs/verbs.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::translators {

using verbs::Clock;
using verbs::Lane;
using verbs::Party;

namespace {

constexpr std::chrono::seconds kWatch{1};

} // namespace

ir::ShortAddress Verbs::short_address() const {
  verbs::Place place = self_;
  place.bootstrap = bootstrap_;
  return place.shorten();
}

Result<ir::Address> Verbs::whole_address(std::uint64_t uid, std::span<const std::byte> shortened) const {
  const auto place = verbs::Place::lengthen(uid, shortened);
  if (!place) return std::unexpected(place.error());
  return place->pack();
}

// Goes with the commands, in their order.
void Verbs::notify(Party& party, std::uint64_t what, ir::Peer number) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.remote = {.key = ir::MemoryKey{0}, .offset = what};
  const std::uint64_t content = peer_number(number);
  std::memcpy(command.head.data(), &content, sizeof content);
  command.head_bytes = sizeof content;
  party.notices.push_back(command);
  ++owed_notices_;
  send_notices(party);
}

void Verbs::send_notices(Party& party) {
  if (party.state != Party::State::there) return;
  while (!party.notices.empty()) {
    const Filled filled = fill(party, party.notices.front());
    if (filled == Filled::never) return break_off(party);
    if (filled == Filled::not_now) return;
    party.notices.erase(party.notices.begin());
    --owed_notices_;
  }
}

void Verbs::hear_notice(Party& party, std::uint64_t what, std::uint32_t number) {
  if (!is_open_world()) return;
  const auto stay = std::ranges::find(party.stays, number);
  if (what == verbs::kAttached && stay == party.stays.end()) {
    party.stays.push_back(number);
    if (Lane* lane = lane_to(party, {})) want(*lane); // by which its death will be noticed
  } else if (what == verbs::kDetached && stay != party.stays.end()) {
    party.stays.erase(stay);
    events_.push({.kind = ir::EventKind::peer_left, .peer = ir::kByUid, .cookie = number, .value = party.place.uid});
  }
}

void Verbs::end_stays(Party& party, ir::EventKind kind) {
  for (const std::uint32_t number : party.stays)
    events_.push({.kind = kind, .peer = ir::kByUid, .cookie = number, .value = party.place.uid});
  party.stays.clear();
}

// Nobody else tells of deaths: the adapter asks whether the other ends are still there, by the queue pairs that rest and by those
// that peers have made.
void Verbs::watch_peers(Clock::time_point now) {
  if (now - watched_ < kWatch) return;
  watched_ = now;
  for (Lane* lane : lanes_)
    if (lane != nullptr && lane->state == Lane::State::open && lane->idle()) {
      lane->unconfirmed = std::max(lane->unconfirmed, 1U);
      confirm(*lane);
    }
  for (auto& [number, incoming] : incoming_) {
    ibv_send_wr nothing{};
    nothing.wr_id = kWatching | number;
    nothing.opcode = IBV_WR_RDMA_WRITE;
    nothing.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    ::ibv_post_send(incoming->pair, &nothing, &bad); // without room: the last question is not answered yet
  }
  watching_ = true;
}

} // namespace heddle::translators
