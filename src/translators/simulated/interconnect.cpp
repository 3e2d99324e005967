#include "translators/simulated/interconnect.hpp"

#include "translators/execute.hpp"
#include "translators/simulated/simulated.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace heddle::translators::simulated {

namespace {

// What a request or an answer carries beside its header: place and size, operands, or a value.
constexpr std::uint64_t kRequestBytes = 16;
constexpr std::uint64_t kAnswerBytes = 8;
// Reads up to this size give what stood there when the request came; larger ones read while they are sent.
constexpr std::uint64_t kReadAtOnce = 64;
constexpr sim::Picoseconds kTimeout = std::chrono::microseconds(500); // until a command on a dead peer is given up
constexpr sim::Picoseconds kDetection =
    std::chrono::microseconds(100); // until the others hear of a death or a departure
constexpr unsigned kAlarmShift = 56;

} // namespace

Interconnect::Interconnect(std::unique_ptr<sim::NetworkModel> network, std::vector<std::uint32_t> nodes)
    : owned_network_(std::move(network)),
      network_(*owned_network_),
      nodes_(std::move(nodes)),
      members_(nodes_.size(), nullptr),
      has_left_(nodes_.size(), false),
      is_touched_(nodes_.size(), false) {
  network_.listen(this);
}

void Interconnect::join(Simulated& member) {
  members_[static_cast<std::uint32_t>(member.self_)] = &member;
}

void Interconnect::leave(const Simulated& member) {
  Simulated*& place = members_[static_cast<std::uint32_t>(member.self_)];
  if (place == &member) place = nullptr;
}

Simulated* Interconnect::member(ir::Peer peer) const {
  const auto rank = static_cast<std::uint32_t>(peer);
  return rank < members_.size() ? members_[rank] : nullptr;
}

void Interconnect::touch(ir::Peer peer) {
  const auto rank = static_cast<std::uint32_t>(peer);
  if (is_touched_[rank]) return;
  is_touched_[rank] = true;
  touched_.push_back(rank);
}

void Interconnect::take_touched(std::vector<std::uint32_t>& into) {
  into.clear();
  std::swap(into, touched_);
  for (const std::uint32_t rank : into) is_touched_[rank] = false;
}

void Interconnect::set_alarm(sim::Picoseconds time, Alarm alarm, std::uint64_t number) {
  network_.at(time, static_cast<std::uint64_t>(alarm) << kAlarmShift | number);
}

void Interconnect::touch_at(ir::Peer peer, sim::Picoseconds time) {
  set_alarm(time, Alarm::touch, static_cast<std::uint64_t>(peer));
}

void Interconnect::kill(ir::Peer peer) {
  end_membership(peer, Alarm::loss);
}

void Interconnect::depart(ir::Peer peer) {
  has_left_[static_cast<std::uint32_t>(peer)] = true;
  end_membership(peer, Alarm::departure);
}

ir::Status Interconnect::absence_of(ir::Peer peer) const {
  const auto rank = static_cast<std::uint32_t>(peer);
  return rank < has_left_.size() && has_left_[rank] ? ir::Status::peer_left : ir::Status::peer_lost;
}

void Interconnect::end_membership(ir::Peer peer, Alarm news) {
  if (member(peer) == nullptr) return;
  members_[static_cast<std::uint32_t>(peer)] = nullptr;
  set_alarm(now() + kDetection, news, static_cast<std::uint64_t>(peer));
}

void Interconnect::tell_all(ir::EventKind news, ir::Peer peer) {
  for (Simulated* survivor : members_)
    if (survivor != nullptr) survivor->report({.kind = news, .peer = peer});
}

void Interconnect::timer(std::uint64_t cookie) {
  const std::uint64_t number = cookie & ((std::uint64_t{1} << kAlarmShift) - 1);
  switch (static_cast<Alarm>(cookie >> kAlarmShift)) {
    case Alarm::touch: touch(static_cast<ir::Peer>(number)); return;
    case Alarm::hand_over:
      if (Simulated* from = member(flights_[number].from)) --from->to_hand_over_;
      hand_over(static_cast<std::uint32_t>(number));
      return;
    case Alarm::timeout: {
      const auto flight = static_cast<std::uint32_t>(number);
      finish(flight, absence_of(flights_[flight].command.peer));
      return;
    }
    case Alarm::absence: member_answered(static_cast<std::uint32_t>(number), ir::Status::peer_lost); return;
    case Alarm::loss: tell_all(ir::EventKind::peer_failed, static_cast<ir::Peer>(number)); return;
    case Alarm::departure: tell_all(ir::EventKind::peer_left, static_cast<ir::Peer>(number)); return;
  }
}

std::uint32_t Interconnect::take_flight(Simulated& from, const ir::Command& command) {
  if (free_flights_.empty()) {
    free_flights_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t index = free_flights_.back();
  free_flights_.pop_back();
  Flight& flight = flights_[index];
  flight.command = command;
  flight.from = from.self_;
  flight.leg = Leg::there;
  flight.value = 0;
  return index;
}

void Interconnect::carry(Simulated& from, const ir::Command& command) {
  const std::uint32_t index = take_flight(from, command);
  Flight& flight = flights_[index];
  const bool put = command.operation == ir::Operation::put;
  const bool taken_at_once = put && !ir::has(command.flags, ir::Flags::signalled) &&
                             command.head_bytes + command.bytes <= from.capabilities().inline_bytes;
  flight.holds_data = taken_at_once && command.bytes > 0;
  if (flight.holds_data) flight.copy.assign(command.local, command.local + command.bytes);
  flight.from_memory = put && command.bytes > 0 && !taken_at_once;
  // One queue is written to after the other; to the same again at no cost.
  const std::uint16_t engine = from.way_to(command.peer, command, false).send_engine;
  const bool turns = engine != from.last_engine_;
  from.last_engine_ = engine;
  from.handed_over_ =
      std::max(now(), from.handed_over_ + (turns ? network_.fabric().interface.queue_access : sim::Picoseconds{0}));
  if (from.handed_over_ == now() && from.to_hand_over_ == 0) return hand_over(index);
  ++from.to_hand_over_;
  set_alarm(from.handed_over_, Alarm::hand_over, index);
}

void Interconnect::hand_over(std::uint32_t index) {
  const Flight& flight = flights_[index];
  const ir::Command& command = flight.command;
  Simulated* from = member(flight.from);
  if (from == nullptr) return finish(index, ir::Status::peer_lost); // it died while it wrote
  const std::uint64_t bytes = command.operation == ir::Operation::put ? put_extent(command) : kRequestBytes;
  send(index, *from, command.peer, bytes, flight.from_memory ? sim::Payload::memory : sim::Payload::immediate);
}

void Interconnect::send(std::uint32_t index, Simulated& from, ir::Peer to, std::uint64_t bytes, sim::Payload payload) {
  const Flight& flight = flights_[index];
  const Steering way = from.way_to(to, flight.command, flight.leg == Leg::back);
  const auto submitted = network_.submit({.source = node_of(from.self_),
                                          .target = node_of(to),
                                          .bytes = bytes,
                                          .cookie = index,
                                          .lid = way.lid,
                                          .send_engine = way.send_engine,
                                          .receive_engine = way.receive_engine,
                                          .lane = way.lane,
                                          .payload = payload});
  if (!submitted) set_alarm(now(), Alarm::timeout, index); // no way leads there
}

void Interconnect::arrived(const sim::Flow& flow) {
  const auto index = static_cast<std::uint32_t>(flow.cookie);
  if (!flights_[index].group.empty()) {
    if (flow.group != sim::kNone) return arrived_at_group(index, flow.target);
    return member_answered(index, ir::Status::ok);
  }
  if (flights_[index].leg == Leg::there)
    arrived_there(index);
  else
    arrived_back(index);
}

void Interconnect::arrived_there(std::uint32_t index) {
  Flight& flight = flights_[index];
  const ir::Command& command = flight.command;
  Simulated* target = member(command.peer);
  if (member(flight.from) == nullptr) { // nobody waits for it, and its memory is gone
    finish(index, ir::Status::peer_lost);
    return;
  }
  if (target == nullptr) {
    set_alarm(now() + kTimeout, Alarm::timeout, index);
    return;
  }
  land(flight, *target);
  const bool ok = flight.status == ir::Status::ok;
  if (ok && ir::has(command.flags, ir::Flags::announced)) target->announce(flight.from, command);
  if (command.operation == ir::Operation::put && !ir::has(command.flags, ir::Flags::signalled)) {
    finish(index, flight.status);
    return;
  }
  flight.leg = Leg::back;
  const bool data = ok && command.operation == ir::Operation::get;
  const bool acknowledges = command.operation == ir::Operation::put;
  const std::uint64_t bytes = data ? command.bytes : acknowledges ? 0 : kAnswerBytes;
  send(index, *target, flight.from, bytes, data && !flight.holds_data ? sim::Payload::memory : sim::Payload::immediate);
}

void Interconnect::land(Flight& flight, Simulated& target) {
  ir::Command& command = flight.command;
  flight.status = ir::Status::refused;
  switch (command.operation) {
    case ir::Operation::put: {
      std::byte* to = target.reach(flight.from, command.remote, put_extent(command));
      if (to == nullptr || !put_is_sound(command, to)) return;
      if (flight.holds_data) command.local = flight.copy.data();
      execute_put(command, to);
      target.note_writer(flight.from);
      touch(command.peer);
      break;
    }
    case ir::Operation::get: {
      const std::byte* at = target.reach(flight.from, command.remote, command.bytes);
      if (at == nullptr) return;
      flight.holds_data = command.bytes <= kReadAtOnce;
      if (flight.holds_data) flight.copy.assign(at, at + command.bytes);
      break;
    }
    case ir::Operation::compare_and_swap:
    case ir::Operation::fetch_and_add: {
      std::byte* at = target.reach(flight.from, command.remote, kWord);
      if (at == nullptr || reinterpret_cast<std::uintptr_t>(at) % kWord != 0) return;
      flight.value = execute_atomic(command, at);
      // In bootstrap memory atomics take something, the common slot or a chunk, and what their owner must know follows by a put.
      if (!target.is_bootstrap(command.remote.key)) touch(command.peer);
      break;
    }
  }
  flight.status = ir::Status::ok;
}

void Interconnect::arrived_back(std::uint32_t index) {
  Flight& flight = flights_[index];
  const ir::Command& command = flight.command;
  ir::Status status = flight.status;
  if (status == ir::Status::ok && command.operation == ir::Operation::get && member(flight.from) != nullptr) {
    const Simulated* target = member(command.peer);
    const std::byte* at =
        target != nullptr && !flight.holds_data ? target->reach(flight.from, command.remote, command.bytes) : nullptr;
    if (flight.holds_data)
      std::copy(flight.copy.begin(), flight.copy.end(), command.local);
    else if (at != nullptr)
      std::memcpy(command.local, at, command.bytes);
    else
      status = target == nullptr ? absence_of(command.peer) : ir::Status::refused; // gone or withdrawn under way
  }
  finish(index, status);
}

void Interconnect::finish(std::uint32_t index, ir::Status status) {
  const Flight& flight = flights_[index];
  if (Simulated* from = member(flight.from)) {
    if (from->under_way_-- == Simulated::kQueueDepth) touch(flight.from); // it can submit again
    if (ir::has(flight.command.flags, ir::Flags::signalled))
      from->report({.kind = ir::EventKind::completed,
                    .status = status,
                    .peer = flight.command.peer,
                    .cookie = flight.command.cookie,
                    .value = flight.value});
  }
  flights_[index].group.clear();
  free_flights_.push_back(index);
}

} // namespace heddle::translators::simulated
