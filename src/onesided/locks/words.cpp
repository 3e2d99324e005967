#include "onesided/locks/words.hpp"

#include <cstring>

namespace heddle::onesided {

namespace {

// The number in a command's cookie: which lock, which use of it, what for.
constexpr unsigned kErrandBits = 4;
constexpr unsigned kUseBits = 12;
constexpr std::uint64_t kUseMask = (std::uint64_t{1} << kUseBits) - 1;

} // namespace

template <typename Memory>
ir::Command BasicLockWords<Memory>::command(const KnownArea& area, std::uint64_t offset, LockErrand errand) {
  ir::Command command;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{area.rank};
  command.cookie = engine::make_cookie(CookieKind::lock_step, (std::uint64_t{area.index} << (kUseBits + kErrandBits)) |
                                                                  ((area.seat.generation & kUseMask) << kErrandBits) |
                                                                  static_cast<std::uint64_t>(errand));
  command.remote = area.place.at(offset);
  command.bytes = 0;
  command.head_bytes = 0;
  return command;
}

template <typename Memory>
typename BasicLockWords<Memory>::Answer BasicLockWords<Memory>::answer(const ir::Event& event) {
  const std::uint64_t number = engine::cookie_number(event.cookie);
  KnownArea& area = common_.known.all()[number >> (kUseBits + kErrandBits)];
  return {.area = &area,
          .errand = static_cast<LockErrand>(number & ((1U << kErrandBits) - 1)),
          .stale = ((number >> kErrandBits) & kUseMask) != (area.seat.generation & kUseMask)};
}

template <typename Memory>
bool BasicLockWords<Memory>::add(KnownArea& area, std::uint64_t offset, std::uint64_t value, std::uint64_t& old) {
  if (area.seat.direct.exists()) {
    old = Memory::fetch_add(word(area, offset), value, std::memory_order_acq_rel);
    return true;
  }
  ir::Command command = this->command(area, offset, LockErrand::step);
  command.operation = ir::Operation::fetch_and_add;
  command.operand = value;
  area.connection->queue().post(command);
  return false;
}

template <typename Memory>
bool BasicLockWords<Memory>::swap(KnownArea& area, std::uint64_t offset, std::uint64_t expected, std::uint64_t value,
                                  LockErrand errand, std::uint64_t& old) {
  if (area.seat.direct.exists()) {
    old = expected;
    Memory::compare_exchange(word(area, offset), old, value, std::memory_order_acq_rel);
    return true;
  }
  ir::Command command = this->command(area, offset, errand);
  command.operation = ir::Operation::compare_and_swap;
  command.expected = expected;
  command.operand = value;
  area.connection->queue().post(command);
  return false;
}

template <typename Memory>
void BasicLockWords<Memory>::store(KnownArea& area, std::uint64_t offset, std::uint64_t value) {
  if (area.seat.direct.exists()) {
    Memory::store(word(area, offset), value, std::memory_order_release);
    return;
  }
  ir::Command command = this->command(area, offset, LockErrand::step);
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::none;
  std::memcpy(command.head.data(), &value, sizeof value);
  command.head_bytes = sizeof value;
  area.connection->queue().post(command);
}

template <typename Memory>
bool BasicLockWords<Memory>::read_claim(KnownArea& area, std::uint32_t ticket) {
  if (area.seat.direct.exists()) {
    area.seat.word = Memory::load(word(area, layout_.claim(ticket)), std::memory_order_relaxed);
    return true;
  }
  ir::Command command = this->command(area, layout_.claim(ticket), LockErrand::step);
  command.operation = ir::Operation::get;
  command.local = reinterpret_cast<std::byte*>(&area.seat.word);
  command.bytes = sizeof area.seat.word;
  area.connection->queue().post(command);
  return false;
}

template class BasicLockWords<base::Processor>;

} // namespace heddle::onesided
