// What the adapter says: commands that have ended, and what peers have sent.
#include "translators/execute.hpp"
#include "translators/verbs/records.hpp"
#include "translators/verbs/verbs.hpp"

#include <cstring>

namespace heddle::translators {

using verbs::Lane;
using verbs::Party;
using verbs::Record;
using verbs::Slot;

namespace {

constexpr int kAtOnce = 16;
// Rooms are given back together: each time costs what one does.
constexpr std::size_t kTogether = 32;

// The target's answer to one command, which says nothing of the way there.
bool of_command(ibv_wc_status status) {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_OP_ERR ||
         status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_QP_OP_ERR ||
         status == IBV_WC_LOC_ACCESS_ERR;
}
bool refused(ibv_wc_status status) {
  return status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR || status == IBV_WC_REM_OP_ERR;
}

} // namespace

void Verbs::complete(const ir::Command& command, ir::Status status, std::uint64_t value, std::int64_t vendor) {
  events_.complete(command, status, value, vendor);
}

// The first of the lane ends.
void Verbs::finish(Lane& lane, ir::Status status, std::int64_t vendor_code) {
  Slot& slot = lane.slot(lane.done);
  const ir::Command& command = slot.command;
  std::uint64_t value = 0;
  if (status == ir::Status::ok && !slot.told) {
    const std::byte* from = slot.large.data != nullptr ? slot.large.data : slot.image.data();
    if (command.operation == ir::Operation::get) {
      if (!slot.direct && command.bytes > 0) std::memcpy(command.local, from, command.bytes);
    } else if (command.operation != ir::Operation::put) {
      std::memcpy(&value, slot.image.data(), sizeof value);
    }
  }
  if (!slot.told) complete(command, status, value, vendor_code);
  memory_.unpin(slot.pinned);
  if (slot.large.data != nullptr) large_.give_back(slot.large);
  if (lane.done == lane.sent)
    ++lane.sent;
  else
    --posted_;
  ++lane.done;
  --under_way_;
}

void Verbs::finish_until(Lane& lane, std::uint32_t number) {
  while (static_cast<std::int32_t>(number - lane.done) >= 0 && lane.done != lane.sent) finish(lane, ir::Status::ok, 0);
}

// All that there are, if no more than can be at once: whoever is about to sleep is not woken for what was there before.
void Verbs::hear_completions() {
  std::array<ibv_wc, kAtOnce> all;
  int count = kAtOnce;
  for (std::uint64_t heard = 0; count == kAtOnce && heard <= most_posted_; heard += kAtOnce) {
    count = ::ibv_poll_cq(sent_queue_, kAtOnce, all.data());
    for (int i = 0; i < count; ++i) hear_completion(all.at(static_cast<std::size_t>(i)));
  }
}

void Verbs::hear_completion(const ibv_wc& one) {
  if ((one.wr_id & kWatching) != 0) {
    const auto from = incoming_.find(static_cast<std::uint32_t>(one.wr_id));
    if (one.status == IBV_WC_RETRY_EXC_ERR && from != incoming_.end()) break_off(*from->second->party);
    return;
  }
  Lane* const found = lanes_[one.wr_id >> 48U];
  // What is left of a queue pair that was given up.
  if (found == nullptr || found->pair == nullptr || ((one.wr_id >> 32U) & 0xffffU) != (found->attempt & 0xffffU))
    return;
  Lane& lane = *found;
  if (one.status != IBV_WC_SUCCESS) return lane_failed(lane, one);
  finish_until(lane, static_cast<std::uint32_t>(one.wr_id));
  if (lane.sent != lane.filled) send_waiting(lane);
  if (lane.make_room && lane.done == lane.sent) close_lane(lane);
}

void Verbs::lane_failed(Lane& lane, const ibv_wc& completion) {
  Party& party = *lane.party;
  log_.debug("verbs: a command to " + std::to_string(party.number ? peer_number(*party.number) : 0) +
             " ended with adapter status " + std::to_string(completion.status));
  if (!of_command(completion.status)) return break_off(party);
  if (!refused(completion.status))
    log_.error("verbs: the adapter refuses a command of this process: status " + std::to_string(completion.status));
  // All before it have been carried out, none behind it.
  const auto number = static_cast<std::uint32_t>(completion.wr_id);
  finish_until(lane, number - 1);
  if (lane.done == number && lane.done != lane.sent)
    finish(lane, refused(completion.status) ? ir::Status::refused : ir::Status::failed, completion.status);
  drop_pair(lane);
  ++reopened_;
  if (!lane.idle()) want(lane);
}

void Verbs::give_back(std::uint32_t room) {
  free_rooms_.push_back(room);
  if (free_rooms_.size() < kTogether) return;
  std::array<ibv_recv_wr, kTogether> requests{};
  std::array<ibv_sge, kTogether> pieces{};
  for (std::size_t i = 0; i < kTogether; ++i) {
    pieces.at(i) = {
        .addr = reinterpret_cast<std::uintptr_t>(room_memory_.data) + std::uint64_t{free_rooms_[i]} * verbs::kRoomBytes,
        .length = verbs::kRoomBytes,
        .lkey = room_memory_.key};
    requests.at(i).wr_id = free_rooms_[i];
    requests.at(i).sg_list = &pieces.at(i);
    requests.at(i).num_sge = 1;
    requests.at(i).next = i + 1 < kTogether ? &requests.at(i + 1) : nullptr;
  }
  ibv_recv_wr* bad = nullptr;
  ::ibv_post_srq_recv(rooms_, requests.data(), &bad);
  free_rooms_.clear();
}

// All that there are: most of them say nothing to the caller, and what stands behind them rings no more. Bounded, since more may come
// all the while.
void Verbs::hear_arrivals() {
  std::array<ibv_wc, kAtOnce> all;
  int count = kAtOnce;
  for (std::uint32_t heard = 0; count == kAtOnce && heard <= room_count_; heard += kAtOnce) {
    count = ::ibv_poll_cq(arrived_queue_, kAtOnce, all.data());
    if (count == 0) ++empty_looks_;
    for (int i = 0; i < count; ++i) hear_arrival(all.at(static_cast<std::size_t>(i)));
  }
}

void Verbs::hear_arrival(const ibv_wc& one) {
  if ((one.wr_id & verbs::Door::kCalled) != 0) return door_->called();
  if ((one.wr_id & verbs::Door::kHeard) != 0) {
    if (const auto call = door_->hear(one)) hear_call(*call);
    return;
  }
  const auto room = static_cast<std::uint32_t>(one.wr_id);
  if (one.status == IBV_WC_SUCCESS) {
    if (one.opcode == IBV_WC_RECV)
      hear_record(one.qp_num, room_memory_.data + std::uint64_t{room} * verbs::kRoomBytes, one.byte_len);
    else if (const auto from = incoming_.find(one.qp_num); from != incoming_.end()) {
      from->second->last_used = ++uses_;
      if ((one.imm_data & verbs::kAnnounced) != 0 && from->second->party->number)
        events_.push({.kind = ir::EventKind::remote_written,
                      .peer = *from->second->party->number,
                      .value = one.imm_data & 0xffU});
    }
  }
  give_back(room);
}

void Verbs::hear_record(std::uint32_t pair, const std::byte* message, std::size_t bytes) {
  const auto from = incoming_.find(pair);
  Record record;
  if (from == incoming_.end() || bytes < sizeof record) return;
  std::memcpy(&record, message, sizeof record);
  if (record.bytes != bytes - sizeof record || record.bytes < kWord) return;
  verbs::Incoming& incoming = *from->second;
  incoming.last_used = ++uses_;
  if (record.key == 0) {
    std::uint64_t number = 0;
    std::memcpy(&number, message + sizeof record, sizeof number);
    return hear_notice(*incoming.party, record.offset, static_cast<std::uint32_t>(number));
  }
  // As the command that it was.
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  if (record.terminated != 0) command.flags = command.flags | ir::Flags::terminated;
  command.head_bytes = kWord;
  std::memcpy(command.head.data(), message + sizeof record, kWord);
  command.local = const_cast<std::byte*>(message + sizeof record + kWord); // only read
  command.bytes = record.bytes - kWord;
  std::byte* to = memory_.reach({.key = ir::MemoryKey{record.key}, .offset = record.offset}, put_extent(command));
  if (to == nullptr || !put_is_sound(command, to)) return; // refused; nobody waits to hear it
  execute_put(command, to);
  if (record.announced != 0 && incoming.party->number)
    events_.push({.kind = ir::EventKind::remote_written, .peer = *incoming.party->number, .value = record.notice});
}

} // namespace heddle::translators
