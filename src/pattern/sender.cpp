#include "pattern/sender.hpp"

#include "engine/layout_cursor.hpp"
#include "pattern/turns.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::pattern {

bool Sender::hand_over(Out& out, std::uint32_t index) {
  Partner& partner = plan_.partners[out.partner];
  switch (out.way) {
    case Delivery::record:
      if (!slot_is_free(*partner.line, round_)) return false;
      break;
    case Delivery::data:
      if (!has_started(*partner.line, round_)) return false;
      break;
    case Delivery::put:
      if (farewell_of(*partner.line).why != Farewell::none) return false; // its memory may be used for something else
      break;
    case Delivery::refused: break;
  }
  if (partner.lost) [[unlikely]]
    return false;
  if (!out.staging.empty()) {
    engine::gather(out.source, 0, out.staging.data(), out.bytes);
    out.local = out.staging.data();
  }
  if (out.way == Delivery::record) return hand_over_record(out, index, partner);
  hand_over_data(out, index, partner);
  return true;
}

bool Sender::hand_over_record(Out& out, std::uint32_t index, const Partner& partner) {
  const std::uint64_t at = round_ % kSlots * out.slot;
  if (out.direct.exists()) [[likely]] {
    if (!partner.queue->try_store(out.direct, at,
                                  {.lead = round_, .second = out.bytes, .local = out.local, .bytes = out.bytes}))
      return false;
    out.progress = Progress::done;
    return true;
  }
  const bool taken_at_once = kRecordHead + out.bytes <= partner.queue->capabilities().inline_bytes;
  ir::Command command{.operation = ir::Operation::put,
                      .flags = taken_at_once ? ir::Flags::lead_last : ir::Flags::lead_last | ir::Flags::signalled,
                      .send_engine = out.send_engine,
                      .receive_engine = out.receive_engine,
                      .peer = ir::Peer{partner.rank},
                      .cookie = engine::make_cookie(engine::CookieKind::prepared, number_ | index),
                      .remote = out.place.at(at),
                      .local = const_cast<std::byte*>(out.local),
                      .bytes = out.bytes,
                      .head_bytes = kRecordHead,
                      .path = out.path};
  std::memcpy(command.head.data(), &round_, sizeof round_);
  std::memcpy(command.head.data() + sizeof round_, &out.bytes, sizeof out.bytes);
  if (!partner.queue->try_post(command)) return false;
  if (taken_at_once) {
    out.progress = Progress::done;
  } else {
    out.progress = Progress::under_way;
    out.under_way = 1;
    ++under_way_;
  }
  return true;
}

void Sender::hand_over_data(Out& out, std::uint32_t index, const Partner& partner) {
  const ir::Capabilities& can = partner.queue->capabilities();
  out.progress = Progress::under_way;
  out.under_way = 0;
  ++under_way_;
  std::uint64_t at = 0;
  do {
    const std::uint64_t bytes = std::min(out.bytes - at, can.largest_transfer);
    ++out.under_way;
    ir::Command command{.operation = ir::Operation::put,
                        .flags = ir::Flags::signalled,
                        .send_engine = out.send_engine,
                        .receive_engine = out.receive_engine,
                        .peer = ir::Peer{partner.rank},
                        .cookie = engine::make_cookie(engine::CookieKind::prepared, number_ | index),
                        .remote = out.place.at(at),
                        .local = const_cast<std::byte*>(out.local) + at,
                        .bytes = bytes,
                        .path = out.path};
    partner.queue->post(command);
    at += bytes;
  } while (at < out.bytes);
  out.owes_flag = out.way == Delivery::data && !can.orders_puts;
  if (out.way == Delivery::data && can.orders_puts) raise_flag(out, partner);
}

// By the same engines as the data, so that it stays behind them.
void Sender::raise_flag(const Out& out, const Partner& partner) const {
  put_word(*partner.queue,
           {.operation = ir::Operation::put,
            .send_engine = out.send_engine,
            .receive_engine = out.receive_engine,
            .peer = ir::Peer{partner.rank},
            .remote = out.flag,
            .path = out.path},
           out.direct_flag, round_);
}

void Sender::put_word(const Partner& partner, std::uint64_t at, std::uint64_t word) {
  ir::DirectRing direct = partner.direct;
  if (direct.exists()) direct.memory += at;
  put_word(*partner.queue,
           {.operation = ir::Operation::put, .peer = ir::Peer{partner.rank}, .remote = partner.remote_line.at(at)},
           direct, word);
}

void Sender::put_word(engine::ScheduleQueue& queue, const ir::Command& command, const ir::DirectRing& direct,
                      std::uint64_t word) {
  if (direct.exists() && queue.try_store_word(direct, 0, word)) return;
  ir::Command put = command;
  put.head_bytes = sizeof word;
  std::memcpy(put.head.data(), &word, sizeof word);
  queue.post(put);
}

void Sender::command_ended(std::uint32_t index, ir::Status status) {
  if (index >= plan_.outs.size()) return;
  Out& out = plan_.outs[index];
  if (out.under_way == 0) return;
  --out.under_way;
  if (status != ir::Status::ok) out.progress = Progress::failed;
  if (out.under_way != 0) return;
  --under_way_;
  if (out.progress != Progress::under_way) return;
  out.progress = Progress::done;
  if (out.owes_flag) raise_flag(out, plan_.partners[out.partner]);
}

} // namespace heddle::pattern
