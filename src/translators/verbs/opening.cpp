// Queue pairs: made when first needed, made anew after a refusal, given up for others. The states are in lane.hpp.
#include "translators/verbs/options.hpp"
#include "translators/verbs/verbs.hpp"

#include <algorithm>
#include <cerrno>

namespace heddle::translators {

using verbs::Call;
using verbs::Clock;
using verbs::Incoming;
using verbs::Lane;
using verbs::Party;
using verbs::Subject;

namespace {

constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{500};
// In an open world nobody else says whether a process that does not answer computes or is dead.
constexpr std::chrono::seconds kMostPatience{60};
constexpr std::uint32_t kSequences = 1U << 24U;
// 4.096 us times 2^16, seven times over: the way has broken when nothing is confirmed for some two seconds, on some adapters up to eight.
// Not seven times more: soft-RoCE takes that for "without end", as it is for a peer without room.
constexpr std::uint8_t kTimeout = 16;
constexpr std::uint8_t kRetries = 6;
constexpr std::uint8_t kForever = 7;    // a peer without room for a message is asked again as often as it takes,
constexpr std::uint8_t kRoomPause = 12; // after 0.64 ms each
constexpr std::uint32_t kInline = 256;
constexpr std::uint32_t kCallsToClose = 20;

std::uint8_t reads_of(const verbs::Device& device) {
  return static_cast<std::uint8_t>(std::clamp(device.limits().max_qp_rd_atom, 1, 16));
}

int initialise(const verbs::Device& device, const verbs::Port& port, ibv_qp* pair, unsigned access) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_INIT;
  wanted.port_num = port.number;
  wanted.qp_access_flags = access;
  return device.library().modify_qp(pair, &wanted,
                                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

struct Far {
  ibv_ah_attr way{};
  std::uint32_t pair = 0;
  std::uint32_t sequence = 0;
  std::uint8_t mtu = 0;
};

int make_ready_to_receive(const verbs::Device& device, const verbs::Port& port, ibv_qp* pair, const Far& far) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_RTR;
  wanted.path_mtu =
      std::min(port.about.active_mtu, static_cast<ibv_mtu>(std::clamp<int>(far.mtu, IBV_MTU_256, IBV_MTU_4096)));
  wanted.dest_qp_num = far.pair;
  wanted.rq_psn = far.sequence;
  wanted.max_dest_rd_atomic = reads_of(device);
  wanted.min_rnr_timer = kRoomPause;
  wanted.ah_attr = far.way;
  return device.library().modify_qp(pair, &wanted,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int make_ready_to_send(const verbs::Device& device, ibv_qp* pair, std::uint32_t sequence, std::uint8_t reads) {
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_RTS;
  wanted.timeout = kTimeout;
  wanted.retry_cnt = kRetries;
  wanted.rnr_retry = kForever;
  wanted.sq_psn = sequence;
  wanted.max_rd_atomic = std::clamp<std::uint8_t>(reads, 1, reads_of(device));
  return device.library().modify_qp(
      pair, &wanted,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

bool later(std::uint32_t one, std::uint32_t other) {
  return static_cast<std::int32_t>(one - other) > 0;
}

} // namespace

Lane* Verbs::lane_to(Party& party, const ir::Command& command) {
  const auto find = [&party](std::uint32_t number) {
    const auto found = std::ranges::find(party.lanes, number, [](const auto& each) { return each->number(); });
    return found == party.lanes.end() ? nullptr : found->get();
  };
  const std::uint32_t named = command.send_engine == ir::kAnyEngine ? party.port : command.send_engine;
  auto port = static_cast<std::uint8_t>(named % device_->ports().size());
  const auto there = command.receive_engine == ir::kAnyEngine
                         ? port
                         : static_cast<std::uint8_t>(command.receive_engine % verbs::kMostPorts);
  const std::uint32_t planned = port == 0 && there == 0 ? party.chosen.value_or(0) : 0;
  const std::uint32_t path = (command.path == ir::kAnyPath ? planned : command.path) % party.place.paths();
  Lane* known = find(Lane::number_of(port, there, path));
  // Another port serves in place of one that is down, unless what is under way there would be overtaken.
  if (!device_->port(port).up() && (known == nullptr || (known->state == Lane::State::closed && known->idle()))) {
    port = first_port_up(port);
    known = find(Lane::number_of(port, there, path));
  }
  if (known != nullptr) return known;
  if (free_indices_.empty() && lanes_.size() == kMostIndices) return nullptr;
  Lane& lane = *party.lanes.emplace_back(std::make_unique<Lane>());
  lane.party = &party;
  lane.path = path;
  lane.port = port;
  lane.there = there;
  if (free_indices_.empty()) {
    lane.index = static_cast<std::uint32_t>(lanes_.size());
    lanes_.push_back(&lane);
  } else {
    lane.index = free_indices_.back().index;
    lane.attempt = free_indices_.back().attempt;
    free_indices_.pop_back();
    lanes_[lane.index] = &lane;
  }
  return &lane;
}

// The one that is asked about where none is.
std::uint8_t Verbs::first_port_up(std::uint8_t otherwise) const {
  const auto& ports = device_->ports();
  const auto up = std::ranges::find_if(ports, &verbs::Port::up);
  return up == ports.end() ? otherwise : static_cast<std::uint8_t>(up - ports.begin());
}

// Those of who has gone: their memory and their indices serve others. When nobody holds on to one.
void Verbs::bury_lanes() {
  some_gone_ = false;
  std::erase_if(tending_, [](const Lane* lane) { return lane->party->gone(); });
  for (auto& [uid, party] : parties_) {
    if (!party->gone()) continue;
    for (const auto& lane : party->lanes) {
      if (lane->memory.data != nullptr) slots_.give_back(lane->memory);
      lanes_[lane->index] = nullptr;
      free_indices_.push_back({.index = lane->index, .attempt = lane->attempt});
    }
    party->lanes.clear();
  }
}

// Something waits for the lane.
void Verbs::want(Lane& lane) {
  if (lane.state == Lane::State::open) return send_waiting(lane);
  if (lane.state == Lane::State::opening) return;
  if (lane.party->state != Party::State::there) return;
  if (!lane.tending) {
    lane.tending = true;
    tending_.push_back(&lane);
    lane.call_again = Clock::now();
    lane.pause = kFirstPause;
  }
  begin_opening(lane);
}

// There is none, and nothing to be given up for it: its memory counts as locked, too.
void Verbs::tell_no_pair(int error) const {
  Error refused = memory_.refusal("", 0, error);
  refused.fact = "verbs: device " + device_->name() + " gives no queue pair";
  log_.error(refused.message());
}

// False: there is no room for a queue pair yet.
bool Verbs::begin_opening(Lane& lane) {
  if (outgoing_ >= most_pairs_ && !make_room_for(lane)) return false;
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sent_queue_;
  wanted.recv_cq = arrived_queue_;
  wanted.srq = rooms_;
  wanted.cap = {.max_send_wr = 3 * Lane::kDepth,
                .max_recv_wr = 0,
                .max_send_sge = 3,
                .max_recv_sge = 0,
                .max_inline_data = kInline};
  wanted.qp_type = IBV_QPT_RC;
  lane.pair = device_->create_pair(wanted);
  if (lane.pair == nullptr) {
    const int error = errno;
    if (outgoing_ == 0 && incoming_.empty()) {
      tell_no_pair(error);
      settle(*lane.party, Party::State::broken);
    } else {
      make_room_for(lane); // the adapter's limit is lower
    }
    return false;
  }
  ++outgoing_;
  lane.inline_bytes = wanted.cap.max_inline_data;
  ++lane.attempt;
  std::uint32_t drawn = 0;
  auth::draw_randomly(std::as_writable_bytes(std::span(&drawn, 1)));
  lane.sequence = drawn % kSequences;
  lane.state = Lane::State::opening;
  // An adapter checks that even where nothing is written: watch_peers.
  if (initialise(*device_, device_->port(lane.port), lane.pair,
                 is_open_world() ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U) != 0) {
    drop_pair(lane);
    return false;
  }
  lane.pause = kFirstPause;
  lane.begun = Clock::now();
  call_open(lane);
  return true;
}

// To another process; its answer comes some time, or never.
void Verbs::call(Party& party, Call call) {
  call.from = self_;
  call.to = party.place.uid;
  call.number = rank_;
  if (door_->call(party.place, call) != verbs::Door::Called::no_way)
    party.no_way.reset();
  else if (!party.no_way)
    party.no_way = Clock::now();
}

void Verbs::call_open(Lane& lane) {
  const verbs::Port& port = device_->port(lane.port);
  Call wanted{.subject = Subject::open,
              .mtu = port.mtu(),
              .reads = reads_of(*device_),
              .lane = lane.number(),
              .attempt = lane.attempt,
              .queue_pair = lane.pair->qp_num,
              .sequence = lane.sequence,
              .lid = port.about.lid,
              .lmc = port.about.lmc,
              .gid = port.address(lane.path).gid};
  call(*lane.party, wanted);
  lane.call_again = Clock::now() + lane.pause;
  lane.pause = std::min(2 * lane.pause, kLongestPause);
}

// What was posted and has not ended is to be posted again.
void Verbs::drop_pair(Lane& lane) {
  if (lane.pair != nullptr) {
    device_->library().destroy_qp(lane.pair);
    lane.pair = nullptr;
    --outgoing_;
  }
  posted_ -= lane.sent - lane.done;
  lane.sent = lane.done;
  lane.unconfirmed = 0;
  lane.make_room = false;
  lane.state = Lane::State::closed;
}

void Verbs::close_lane(Lane& lane) {
  drop_pair(lane);
  lane.state = Lane::State::closing;
  lane.calls_left = kCallsToClose;
  if (!lane.tending) tending_.push_back(&lane);
  lane.tending = true;
  lane.pause = kFirstPause;
  lane.call_again = Clock::now();
}

// The lane unused for longest gives its queue pair to another, now or as soon as nothing is under way on it.
bool Verbs::make_room_for(const Lane& other) {
  Lane* idle = nullptr;
  Lane* busy = nullptr;
  for (Lane* each : lanes_) {
    if (each == nullptr || each == &other || each->state != Lane::State::open) continue;
    if (each->make_room && !each->idle()) return false; // it will
    Lane*& best = each->idle() ? idle : busy;
    if (best == nullptr || each->last_used < best->last_used) best = each;
  }
  if (idle == nullptr) {
    if (busy != nullptr) {
      busy->make_room = true;
      confirm(*busy);
    }
    return false;
  }
  close_lane(*idle);
  return true;
}

void Verbs::tend() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < tending_.size();) {
    Lane& lane = *tending_[i];
    tend_lane(lane, now);
    const bool calls = lane.state == Lane::State::opening || lane.state == Lane::State::closing ||
                       (lane.state == Lane::State::closed && !lane.idle() && lane.party->state == Party::State::there);
    if (calls) {
      ++i;
      continue;
    }
    lane.tending = false;
    tending_[i] = tending_.back();
    tending_.pop_back();
  }
  for (std::size_t i = breaking_.size(); i-- > 0;) tend_breaking(*breaking_[i], now);
  for (std::size_t i = leaving_.size(); i-- > 0;) tend_leaving(*leaving_[i], now);
}

void Verbs::tend_lane(Lane& lane, Clock::time_point now) {
  if (!lane.idle() && lane.state != Lane::State::open && hopeless(*lane.party, now)) {
    log_.error("verbs: device " + device_->name() + " has no way to peer " +
               std::to_string(lane.party->number ? peer_number(*lane.party->number) : 0));
    return settle(*lane.party, Party::State::broken);
  }
  if (lane.state == Lane::State::closed || (lane.state == Lane::State::closing && !lane.idle())) {
    if (!lane.idle() && lane.party->state == Party::State::there) begin_opening(lane);
    return;
  }
  if (now < lane.call_again) return;
  if (lane.state == Lane::State::opening && is_open_world() && now - lane.begun > kMostPatience)
    return settle(*lane.party, Party::State::failed);
  if (lane.state == Lane::State::opening) return call_open(lane);
  if (lane.state != Lane::State::closing) return;
  if (lane.calls_left-- == 0) { // it is not there any more, or finds out by itself
    lane.state = Lane::State::closed;
    return;
  }
  call(*lane.party, {.subject = Subject::close, .lane = lane.number(), .attempt = lane.attempt});
  lane.call_again = now + lane.pause;
  lane.pause = std::min(2 * lane.pause, kLongestPause);
}

void Verbs::drop_incoming(Party& party, std::uint32_t lane) {
  const auto found = std::ranges::find(party.incoming, lane, [](const auto& each) { return each->lane; });
  if (found == party.incoming.end()) return;
  incoming_.erase((*found)->pair->qp_num);
  device_->library().destroy_qp((*found)->pair);
  party.incoming.erase(found);
}

bool Verbs::ask_for_room() {
  Incoming* best = nullptr;
  for (auto& [pair, each] : incoming_)
    if (best == nullptr || each->last_used < best->last_used) best = each;
  if (best == nullptr) return false;
  call(*best->party, {.subject = Subject::make_room, .lane = best->lane, .attempt = best->attempt});
  return true;
}

void Verbs::answer_open(Party& party, const Call& call) {
  const auto known = std::ranges::find(party.incoming, call.lane, [](const auto& each) { return each->lane; });
  Incoming* incoming = known == party.incoming.end() ? nullptr : known->get();
  if (incoming != nullptr && later(incoming->attempt, call.attempt)) return;
  if (incoming != nullptr && incoming->attempt != call.attempt) {
    drop_incoming(party, call.lane);
    incoming = nullptr;
  }
  if (incoming == nullptr) {
    if (call.lane >= Lane::kNumbers) return;
    if (incoming_.size() >= most_pairs_) {
      ask_for_room(); // the caller calls again
      return;
    }
    ibv_qp_init_attr wanted{};
    wanted.send_cq = sent_queue_;
    wanted.recv_cq = arrived_queue_;
    wanted.srq = rooms_;
    wanted.cap = {.max_send_wr = 1, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    ibv_qp* pair = device_->create_pair(wanted);
    if (pair == nullptr) {
      const int error = errno;
      if (ask_for_room() || outgoing_ != 0) return;
      tell_no_pair(error);
      return break_off(party); // tells the caller
    }
    const verbs::Place there = verbs::end_of(call);
    auto which = static_cast<std::uint8_t>(Lane::there_of(call.lane) % device_->ports().size());
    if (!device_->port(which).up()) which = first_port_up(which);
    const verbs::Port& port = device_->port(which);
    const std::uint32_t path = Lane::path_of(call.lane);
    // The caller's plan says how it gets here, and this process's how it gets back.
    const bool planned = call.lane == path && which == 0;
    const std::uint32_t back =
        there.addresses != 0 ? 0 : (planned ? party.chosen.value_or(path) : path) % there.paths();
    const verbs::Source source{.port = port.number,
                               .gid_index = port.address(path).index,
                               .path = static_cast<std::uint8_t>(path % (1U << port.about.lmc))};
    const Far far{.way = verbs::address_vector(source, there, back),
                  .pair = call.queue_pair,
                  .sequence = call.sequence,
                  .mtu = call.mtu};
    int error =
        initialise(*device_, port, pair, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    if (error == 0) error = make_ready_to_receive(*device_, port, pair, far);
    // By which it is asked whether the other end is still there: watch_peers.
    if (error == 0 && is_open_world()) error = make_ready_to_send(*device_, pair, 0, 1);
    if (error != 0) {
      log_.warning("verbs: a queue pair cannot be connected: errno " + std::to_string(error));
      device_->library().destroy_qp(pair);
      return break_off(party); // tells the caller
    }
    incoming = party.incoming
                   .emplace_back(std::make_unique<Incoming>(Incoming{.party = &party,
                                                                     .lane = call.lane,
                                                                     .attempt = call.attempt,
                                                                     .pair = pair,
                                                                     .last_used = ++uses_,
                                                                     .port = which,
                                                                     .back = static_cast<std::uint8_t>(back)}))
                   .get();
    incoming_[pair->qp_num] = incoming;
  }
  const verbs::Port& port = device_->port(incoming->port);
  Call reply{.subject = Subject::opened,
             .mtu = port.mtu(),
             .reads = reads_of(*device_),
             .back = incoming->back,
             .lane = call.lane,
             .attempt = call.attempt,
             .queue_pair = incoming->pair->qp_num,
             .from = self_,
             .to = call.from.uid,
             .number = rank_,
             .lid = port.about.lid,
             .lmc = port.about.lmc,
             .gid = port.address(Lane::path_of(call.lane)).gid};
  door_->call(call.from, reply);
}

void Verbs::hear_opened(Party& party, const Call& call) {
  const auto found = std::ranges::find(party.lanes, call.lane, [](const auto& each) { return each->number(); });
  if (found == party.lanes.end()) return;
  Lane& lane = **found;
  if (lane.state != Lane::State::opening || lane.attempt != call.attempt) return;
  const verbs::Port& port = device_->port(lane.port);
  const verbs::Source source{.port = port.number,
                             .gid_index = port.address(lane.path).index,
                             .path = static_cast<std::uint8_t>(call.back % (1U << port.about.lmc))};
  const Far far{
      .way = verbs::address_vector(source, verbs::end_of(call), lane.path), .pair = call.queue_pair, .mtu = call.mtu};
  int error = make_ready_to_receive(*device_, port, lane.pair, far);
  if (error == 0) error = make_ready_to_send(*device_, lane.pair, lane.sequence, call.reads);
  if (error != 0) {
    log_.warning("verbs: a queue pair cannot be connected: errno " + std::to_string(error));
    return break_off(party);
  }
  lane.state = Lane::State::open;
  send_waiting(lane);
}

void Verbs::answer(const verbs::Place& there, const Call& call, Subject subject) {
  Call reply{.subject = subject,
             .lane = call.lane,
             .attempt = call.attempt,
             .from = self_,
             .to = call.from.uid,
             .number = rank_};
  door_->call(there, reply);
}

} // namespace heddle::translators
