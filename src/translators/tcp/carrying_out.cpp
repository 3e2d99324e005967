// Commands as frames: how they leave, and how those of others are carried out. Answers are made in answering.cpp.
#include "net/sockets.hpp"
#include "translators/execute.hpp"
#include "translators/tcp/tcp.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::translators {

using tcp::Asked;
using tcp::Frame;
using tcp::FrameKind;
using tcp::Wire;

namespace {

constexpr std::uint32_t kFramesAtOnce = 4;
constexpr std::uint64_t kSmallFrame = 4 << 10;

iovec piece(const void* data, std::size_t bytes) {
  return {.iov_base = const_cast<void*>(data), .iov_len = bytes};
}

FrameKind kind_of(ir::Operation operation) {
  switch (operation) {
    case ir::Operation::put: return FrameKind::put;
    case ir::Operation::get: return FrameKind::get;
    case ir::Operation::compare_and_swap: return FrameKind::compare_and_swap;
    case ir::Operation::fetch_and_add: return FrameKind::fetch_and_add;
  }
  return FrameKind::put;
}

ir::Operation operation_of(FrameKind kind) {
  if (kind == FrameKind::get) return ir::Operation::get;
  if (kind == FrameKind::compare_and_swap) return ir::Operation::compare_and_swap;
  if (kind == FrameKind::fetch_and_add) return ir::Operation::fetch_and_add;
  return ir::Operation::put;
}

// A number for a command that is to be answered.
std::uint32_t take_number(Wire& wire, const Asked& asked) {
  auto unused = std::ranges::find(wire.asked, false, &Asked::taken);
  if (unused == wire.asked.end()) unused = wire.asked.insert(wire.asked.end(), Asked{});
  *unused = asked;
  ++wire.asked_count;
  if (asked.operation == ir::Operation::get) wire.asked_bytes += asked.bytes;
  return static_cast<std::uint32_t>(unused - wire.asked.begin());
}

void give_number_back(Wire& wire, std::uint32_t number) {
  Asked& asked = wire.asked[number];
  asked.taken = false;
  --wire.asked_count;
  if (asked.operation == ir::Operation::get) wire.asked_bytes -= asked.bytes;
}

} // namespace

void Tcp::send(Wire& wire, const ir::Command& command) {
  const bool put = command.operation == ir::Operation::put;
  const bool swap = command.operation == ir::Operation::compare_and_swap;
  const bool signalled = ir::has(command.flags, ir::Flags::signalled);
  const std::uint32_t head_bytes = put ? command.head_bytes : swap ? sizeof command.expected : 0;
  Frame frame{.kind = kind_of(command.operation),
              .flags = static_cast<std::uint8_t>(command.flags),
              .head_bytes = static_cast<std::uint16_t>(head_bytes),
              .number = 0,
              .bytes = put || command.operation == ir::Operation::get ? command.bytes : 0,
              .key = static_cast<std::uint64_t>(command.remote.key),
              .offset = command.remote.offset,
              .operand = command.operand};
  if (gathers(wire, frame.bytes)) frame.flags |= tcp::kConfirm;
  const bool answered = signalled || !put;
  std::uint32_t number = 0;
  if (answered) {
    number = take_number(wire, {.peer = command.peer,
                                .cookie = command.cookie,
                                .into = put ? nullptr : command.local,
                                .bytes = command.bytes,
                                .operation = command.operation,
                                .signalled = signalled,
                                .taken = true});
    frame.number = number + 1;
  }
  const void* head = swap ? static_cast<const void*>(&command.expected) : command.head.data();
  std::array pieces{piece(&frame, sizeof frame), piece(head, head_bytes),
                    piece(command.local, put ? command.bytes : 0)};
  try {
    wire.out.send(wire.socket_for_frames(), pieces);
    list(wire);
  } catch (const std::bad_alloc&) {
    if (answered) give_number_back(wire, number);
    throw;
  }
}

// Each packet costs more than all else that is done for a small frame. So the first few after a poll leave at once. Where more follow,
// they wait until the other side has read those, and leave together; or at the next poll.
bool Tcp::gathers(Wire& wire, std::uint64_t bytes) {
  if (wire.last_sent_at != polls_) wire.sent_since_poll = 0;
  wire.last_sent_at = polls_;
  const bool many = ++wire.sent_since_poll > kFramesAtOnce;
  if (const bool gather = many && bytes <= kSmallFrame; gather != wire.gathers && wire.state == tcp::WireState::open) {
    wire.gathers = gather;
    gather ? net::send_together(wire.socket.number()) : net::send_at_once(wire.socket.number());
  }
  return wire.sent_since_poll >= kFramesAtOnce;
}

// Those that have something waiting are looked at in every poll.
void Tcp::list(Wire& wire) {
  if (wire.listed || (!wire.has_to_send() && !wire.gathers)) return;
  to_flush_.push_back(&wire);
  wire.listed = true;
}

// --- what comes ---

ir::Command Tcp::command_of(const Frame& frame, std::span<const std::byte> head) {
  ir::Command command;
  command.operation = operation_of(frame.kind);
  command.flags = static_cast<ir::Flags>(frame.flags & ~tcp::kConfirm);
  command.remote = {.key = ir::MemoryKey{frame.key}, .offset = frame.offset};
  command.bytes = frame.bytes;
  command.operand = frame.operand;
  command.head_bytes = frame.head_bytes;
  std::copy(head.begin(), head.end(), command.head.begin());
  if (frame.kind == FrameKind::compare_and_swap) std::memcpy(&command.expected, head.data(), sizeof command.expected);
  return command;
}

bool Tcp::begin(const Frame& frame, std::span<const std::byte> head) {
  const bool must_be_answered = frame.kind == FrameKind::get || frame.kind == FrameKind::compare_and_swap ||
                                frame.kind == FrameKind::fetch_and_add;
  if (must_be_answered && frame.number == 0) return false;
  const bool is_command = must_be_answered || frame.kind == FrameKind::put;
  if (is_command && (frame.flags & tcp::kConfirm) != 0) reading_->must_confirm = true;
  const bool is_answered_now = is_command && frame.kind != FrameKind::get && frame.number != 0;
  if (is_answered_now && !reading_->answers.add(reading_->out.taken(), reading_->out.left())) return false;
  switch (frame.kind) {
    case FrameKind::put: {
      reading_->refused = false;
      if (frame.bytes <= tcp::kTailBytes) return true; // looked at when all of it is there
      const ir::Command command = command_of(frame, head);
      const std::byte* to = memory_.reach(command.remote, put_extent(command));
      reading_->refused = to == nullptr || !put_is_sound(command, to);
      return true;
    }
    case FrameKind::get: return reading_->gets.size() < tcp::kMostAsked;
    case FrameKind::compare_and_swap: return head.size() == sizeof(std::uint64_t);
    case FrameKind::answer: return is_expected(frame);
    case FrameKind::attach: return reading_->first == nullptr && reading_->stays.size() < tcp::kMostAsked;
    case FrameKind::detach: return reading_->first == nullptr;
    case FrameKind::fetch_and_add:
    case FrameKind::goodbye: return true;
  }
  return false;
}

bool Tcp::is_expected(const Frame& answer) const {
  if (answer.number == 0 || answer.number > reading_->asked.size()) return false;
  const Asked& asked = reading_->asked[answer.number - 1];
  const bool with_data =
      asked.operation == ir::Operation::get && static_cast<ir::Status>(answer.flags) == ir::Status::ok;
  return asked.taken && answer.flags <= static_cast<std::uint8_t>(ir::Status::failed) &&
         answer.bytes == (with_data ? asked.bytes : 0);
}

std::byte* Tcp::payload_target(const Frame& frame, std::uint64_t done) {
  if (frame.kind == FrameKind::answer) {
    std::byte* into = reading_->asked[frame.number - 1].into;
    return into == nullptr ? nullptr : into + done;
  }
  if (reading_->refused) return nullptr;
  const std::uint64_t extent = frame.head_bytes + frame.bytes;
  std::byte* to = memory_.reach({.key = ir::MemoryKey{frame.key}, .offset = frame.offset}, extent);
  reading_->refused = to == nullptr; // its memory has gone meanwhile
  return to == nullptr ? nullptr : to + frame.head_bytes + done;
}

void Tcp::end(const Frame& frame, std::span<const std::byte> head, std::span<const std::byte> tail) {
  Wire& wire = *reading_;
  switch (frame.kind) {
    case FrameKind::put: {
      const ir::Status status = wire.refused ? ir::Status::refused : finish_put(command_of(frame, head), tail);
      if (frame.number != 0) answer(wire, frame, status, 0);
      if (const auto number = wire.pair().number;
          status == ir::Status::ok && number && ir::has(static_cast<ir::Flags>(frame.flags), ir::Flags::announced))
        events_.push({.kind = ir::EventKind::remote_written, .peer = *number, .value = frame.operand & 0xffU});
      break;
    }
    case FrameKind::get:
      wire.gets.push_back({.number = frame.number,
                           .bytes = frame.bytes,
                           .place = {.key = ir::MemoryKey{frame.key}, .offset = frame.offset}});
      list(wire);
      break;
    case FrameKind::compare_and_swap:
    case FrameKind::fetch_and_add: {
      std::uint64_t value = 0;
      const ir::Status status = memory_.execute(command_of(frame, head), value);
      answer(wire, frame, status, value);
      break;
    }
    case FrameKind::answer: take_answer(frame, tail); break;
    case FrameKind::attach: wire.stays.push_back(frame.operand); break;
    case FrameKind::detach:
      if (std::erase(wire.stays, frame.operand) > 0) tell_end(wire, frame.operand, true);
      break;
    case FrameKind::goodbye: wire.has_left = true; break;
  }
}

ir::Status Tcp::finish_put(ir::Command command, std::span<const std::byte> tail) {
  std::byte* to = memory_.reach(command.remote, put_extent(command));
  if (to == nullptr || !put_is_sound(command, to)) return ir::Status::refused;
  if (command.bytes == tail.size()) {
    command.local = const_cast<std::byte*>(tail.data()); // a put only reads it
    execute_put(command, to);
    return ir::Status::ok;
  }
  translators::finish_put(command, to, tail);
  return ir::Status::ok;
}

void Tcp::take_answer(const Frame& frame, std::span<const std::byte> tail) {
  Wire& wire = *reading_;
  const Asked asked = wire.asked[frame.number - 1];
  give_number_back(wire, frame.number - 1);
  if (asked.into != nullptr && !tail.empty())
    std::memcpy(asked.into + (frame.bytes - tail.size()), tail.data(), tail.size());
  if (asked.signalled) complete(asked.peer, asked.cookie, static_cast<ir::Status>(frame.flags), frame.operand);
}

void Tcp::end_asked(Wire& wire, ir::Status status) {
  for (Asked& asked : wire.asked) {
    if (!asked.taken) continue;
    if (asked.signalled) complete(asked.peer, asked.cookie, status, 0);
    asked.signalled = false;
    asked.into = nullptr;
  }
}

} // namespace heddle::translators
