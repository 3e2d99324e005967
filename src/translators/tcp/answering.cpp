// What leaves a process beside its own commands: notices, and answers to those of others.
#include "translators/tcp/tcp.hpp"

#include <array>
#include <new>
#include <span>

namespace heddle::translators {

using tcp::Frame;
using tcp::FrameKind;
using tcp::Wire;

namespace {

iovec piece_of_frame(Frame& frame) {
  return {.iov_base = &frame, .iov_len = sizeof frame};
}

} // namespace

void Tcp::send_notice(Wire& wire, FrameKind kind, std::uint64_t number) {
  send_or_owe(wire, {.kind = kind, .operand = number}, wire.socket_for_frames());
}

void Tcp::send_or_owe(Wire& wire, Frame frame, int socket) {
  pay_owed(wire);
  if (!wire.owed.empty()) {
    wire.owed.push_back(frame);
    return list(wire);
  }
  std::array whole{piece_of_frame(frame)};
  try {
    wire.out.send(socket, whole);
  } catch (const std::bad_alloc&) {
    wire.owed.push_back(frame);
  }
  list(wire);
}

void Tcp::pay_owed(Wire& wire) {
  std::ptrdiff_t paid = 0;
  try {
    for (Frame& frame : wire.owed) {
      std::array whole{piece_of_frame(frame)};
      wire.out.send(-1, whole);
      ++paid;
    }
  } catch (const std::bad_alloc&) { // the rest later
  }
  wire.owed.erase(wire.owed.begin(), wire.owed.begin() + paid);
}

void Tcp::answer(Wire& wire, const Frame& frame, ir::Status status, std::uint64_t value) {
  // Several leave together when all that has come is carried out.
  send_or_owe(
      wire,
      {.kind = FrameKind::answer, .flags = static_cast<std::uint8_t>(status), .number = frame.number, .operand = value},
      -1);
}

void Tcp::serve_gets(Wire& wire) {
  while (!wire.gets.empty() && wire.out.waiting() == 0 && wire.owed.empty()) {
    const tcp::OpenGet asked = wire.gets.front();
    const std::byte* from = memory_.reach(asked.place, asked.bytes);
    const Frame reply{.kind = FrameKind::answer,
                      .flags = static_cast<std::uint8_t>(from == nullptr ? ir::Status::refused : ir::Status::ok),
                      .number = asked.number,
                      .bytes = from == nullptr ? 0 : asked.bytes};
    try {
      wire.out.lend(wire.socket_for_frames(), std::as_bytes(std::span(&reply, 1)), {from, reply.bytes});
    } catch (const std::bad_alloc&) {
      return list(wire); // it waits until there is memory
    }
    wire.gets.pop_front();
    wire.lent = asked.place.key;
    list(wire);
  }
}

// Memory is about to go: what has been promised of it is kept.
void Tcp::take_back_lent(ir::MemoryKey key) {
  for (Wire* wire : to_flush_)
    if (wire->lent == key) wire->out.copy_borrowed();
}

} // namespace heddle::translators
