// Calls that are heard, and how contact ends.
#include "translators/verbs/verbs.hpp"

#include <algorithm>

namespace heddle::translators {

using verbs::Call;
using verbs::Clock;
using verbs::Lane;
using verbs::Party;
using verbs::Subject;

namespace {

constexpr std::chrono::milliseconds kAskAgain{100};
// What has been carried out is confirmed by then; what has not never is.
constexpr std::chrono::milliseconds kConfirmed{500};

// Whether the adapter is still to say of some command whether it was carried out.
bool awaits(const Party& party) {
  for (const auto& lane : party.lanes)
    for (std::uint32_t number = lane->done; number != lane->sent; ++number)
      if (ir::has(lane->slot(number).command.flags, ir::Flags::signalled) && !lane->slot(number).told) return true;
  return false;
}

ir::Status status_of(Party::State state) {
  switch (state) {
    case Party::State::there: return ir::Status::ok;
    case Party::State::breaking:
    case Party::State::broken: return ir::Status::connection_lost;
    case Party::State::left: return ir::Status::peer_left;
    case Party::State::failed: return ir::Status::peer_lost;
  }
  return ir::Status::failed;
}

} // namespace

Party& Verbs::party_of(const verbs::Place& place, std::uint32_t rank) {
  auto& party = parties_[place.uid];
  if (party == nullptr) {
    party = std::make_unique<Party>();
    party->place = place;
    if (!is_open_world()) party->number = ir::Peer{rank};
    if (const auto chosen = chosen_.find(rank); chosen != chosen_.end()) party->chosen = chosen->second;
  }
  return *party;
}

// For a peer that has called already, too, as long as no command is under way to it: those that follow would overtake it.
void Verbs::choose_path(ir::Peer peer, std::uint32_t path) {
  chosen_[peer_number(peer)] = path;
  for (auto& [uid, party] : parties_)
    if (party->number == peer && std::ranges::all_of(party->lanes, [](const auto& lane) { return lane->idle(); }))
      party->chosen = path;
}

// In an open world what says that this process has come goes ahead of all else, and it has gone by the first port already.
void Verbs::choose_engine(ir::Peer peer, std::uint8_t engine) {
  const auto found = attached_.find(peer_number(peer));
  if (found != attached_.end() && !is_open_world())
    found->second->port = static_cast<std::uint8_t>(engine % device_->ports().size());
}

void Verbs::hear_call(const Call& call) {
  if (call.to != self_.uid) { // another process had this number before
    if (call.subject != Subject::another && call.subject != Subject::goodbye) answer(call.from, call, Subject::another);
    return;
  }
  if (!is_open_world() && call.number >= size_) return;
  if (call.subject == Subject::another) {
    // Whoever answers is not the one that was called; that one is known by its door.
    for (auto& [uid, party] : parties_)
      if (party->place.door == call.from.door && party->place.gid == call.from.gid &&
          party->place.lid == call.from.lid && uid != call.from.uid && !party->gone())
        return settle(*party, Party::State::failed);
    return;
  }
  Party& party = party_of(call.from, call.number);
  if (call.subject == Subject::given_up) return settle(party, Party::State::failed);
  // It lives after all: it learns that nobody waits for it any more, instead of calling for ever.
  if (party.gone() && party.state == Party::State::failed && call.subject != Subject::goodbye)
    answer(call.from, call, Subject::given_up);
  if (party.gone()) return;
  const auto lane = std::ranges::find(party.lanes, call.lane, [](const auto& each) { return each->number(); });
  switch (call.subject) {
    case Subject::open:
      if (party.state != Party::State::breaking) answer_open(party, call);
      break;
    case Subject::opened: hear_opened(party, call); break;
    case Subject::close: {
      const auto incoming = std::ranges::find(party.incoming, call.lane, [](const auto& each) { return each->lane; });
      if (incoming != party.incoming.end() && (*incoming)->attempt == call.attempt) drop_incoming(party, call.lane);
      answer(call.from, call, Subject::closed);
      break;
    }
    case Subject::closed:
      if (lane != party.lanes.end() && (*lane)->state == Lane::State::closing && (*lane)->attempt == call.attempt)
        (*lane)->state = Lane::State::closed;
      break;
    case Subject::make_room:
      if (lane == party.lanes.end() || (*lane)->state != Lane::State::open || (*lane)->attempt != call.attempt) {
        if (lane == party.lanes.end() || (*lane)->attempt != call.attempt || (*lane)->state == Lane::State::closed)
          answer(call.from, call, Subject::close); // nobody uses it
        break;
      }
      if ((*lane)->done == (*lane)->sent) {
        close_lane(**lane);
      } else {
        (*lane)->make_room = true;
        confirm(**lane);
      }
      break;
    case Subject::broken:
      answer(call.from, call, Subject::mended);
      // Told again: the answer was lost, or comes late.
      if (call.attempt != party.heard_break) {
        party.heard_break = call.attempt;
        if (party.state != Party::State::broken) settle(party, Party::State::broken);
      }
      break;
    case Subject::mended:
      if (party.state == Party::State::breaking && call.attempt == party.own_break) settle(party, Party::State::broken);
      break;
    case Subject::goodbye: hear_goodbye(party); break;
    case Subject::another:
    case Subject::given_up: break;
  }
}

// Nobody knows what has arrived of that which was under way. Whether the other side lives is asked, so that both are told the same.
void Verbs::break_off(Party& party) {
  if (party.state != Party::State::there) return;
  if (party.leaves_at) return settle(party, Party::State::left);
  party.state = Party::State::breaking;
  ++party.own_break;
  for (const auto& lane : party.lanes) drop_pair(*lane);
  while (!party.incoming.empty()) drop_incoming(party, party.incoming.back()->lane);
  party.call_again = Clock::now();
  party.give_up = party.call_again + silence_;
  breaking_.push_back(&party);
}

void Verbs::tend_breaking(Party& party, Clock::time_point now) {
  if (party.state != Party::State::breaking) {
    std::erase(breaking_, &party);
    return;
  }
  // Who cannot be asked may well live.
  if (now >= party.give_up) return settle(party, port_down_ ? Party::State::broken : Party::State::failed);
  if (now < party.call_again) return;
  call(party, {.subject = Subject::broken, .attempt = party.own_break});
  party.call_again = now + kAskAgain;
}

// It may have left because of what this process has written to it: the adapter then says so, before or after.
void Verbs::hear_goodbye(Party& party) {
  hear_completions();
  if (party.gone() || party.leaves_at) return;
  party.leaves_at = Clock::now() + kConfirmed;
  leaving_.push_back(&party);
  tend_leaving(party, Clock::now());
}

void Verbs::tend_leaving(Party& party, Clock::time_point now) {
  if (!party.gone() && now < *party.leaves_at && awaits(party)) return;
  std::erase(leaving_, &party);
  settle(party, Party::State::left);
}

// Contact with it ends, and whoever is attached to it is told.
void Verbs::settle(Party& party, Party::State state) {
  if (party.gone()) return;
  party.state = state;
  some_gone_ = some_gone_ || party.gone();
  for (const auto& lane : party.lanes) drop_pair(*lane);
  while (!party.incoming.empty()) drop_incoming(party, party.incoming.back()->lane);
  std::erase(breaking_, &party);
  const auto kind = state == Party::State::left     ? ir::EventKind::peer_left
                    : state == Party::State::failed ? ir::EventKind::peer_failed
                                                    : ir::EventKind::connection_lost;
  if (party.attached && party.number) {
    gone_[peer_number(*party.number)] = status_of(state);
    events_.push({.kind = kind, .peer = *party.number});
  }
  owed_notices_ -= party.notices.size();
  party.notices.clear();
  end_stays(party, kind == ir::EventKind::peer_left ? kind : ir::EventKind::peer_failed);
  end_lanes(party, status_of(state));
}

void Verbs::end_lanes(Party& party, ir::Status status) {
  for (const auto& lane : party.lanes) {
    drop_pair(*lane);
    while (!lane->idle()) finish(*lane, status, 0);
  }
}

// All that a process sent before it left in good order has been confirmed, so it is in the queue here: whoever has found that empty
// since has heard of everything, whether or not the goodbye got lost.
bool Verbs::will_tell_end(ir::Peer peer) const {
  for (const auto& [uid, party] : parties_) {
    if (party->number != peer || party->state != Party::State::there) continue;
    if (!party->asked_at) party->asked_at = {empty_looks_, Clock::now()};
    const auto& [looks, since] = *party->asked_at;
    if (awaits(*party) && Clock::now() < since + kConfirmed) return true;
    return !party->incoming.empty() && empty_looks_ == looks;
  }
  return false;
}

} // namespace heddle::translators
