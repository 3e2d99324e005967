// Atomic operations. Networks have compare-and-swap and fetch-and-add of 8 bytes: the others are tried with compare-and-swap
// on the 8 bytes around the word until nobody has come in between.
#include "onesided/transfers/transfers.hpp"

namespace heddle::onesided {

namespace {

constexpr std::uint64_t kWord = 8;

// The 4 or 8 bytes of the operation inside the 8 around them.
struct Part {
  unsigned shift = 0;
  std::uint64_t mask = ~std::uint64_t{0};

  Part(const Atomic& operation, std::uint64_t offset) {
    if (operation.bytes == kWord) return;
    shift = static_cast<unsigned>(offset % kWord) * 8;
    mask = 0xffff'ffffULL << shift;
  }
  [[nodiscard]] std::uint64_t of(std::uint64_t whole) const { return (whole & mask) >> shift; }
  [[nodiscard]] std::uint64_t put(std::uint64_t whole, std::uint64_t part) const {
    return (whole & ~mask) | ((part << shift) & mask);
  }
};

template <typename Word>
std::uint64_t apply_to(const Atomic& operation, std::byte* at) {
  const std::atomic_ref word(*reinterpret_cast<Word*>(at));
  const auto operand = static_cast<Word>(operation.operand);
  switch (operation.kind) {
    case Atomic::Kind::add: return word.fetch_add(operand);
    case Atomic::Kind::swap: return word.exchange(operand);
    case Atomic::Kind::bit_and: return word.fetch_and(operand);
    case Atomic::Kind::bit_or: return word.fetch_or(operand);
    case Atomic::Kind::bit_xor: return word.fetch_xor(operand);
    case Atomic::Kind::compare_and_swap: {
      auto found = static_cast<Word>(operation.expected);
      word.compare_exchange_strong(found, operand);
      return found;
    }
  }
  return 0;
}

bool is_one_command(const Atomic& operation) {
  return operation.bytes == kWord &&
         (operation.kind == Atomic::Kind::add || operation.kind == Atomic::Kind::compare_and_swap);
}

} // namespace

std::uint64_t apply_here(const Atomic& operation, std::byte* at) {
  return operation.bytes == kWord ? apply_to<std::uint64_t>(operation, at) : apply_to<std::uint32_t>(operation, at);
}

std::uint64_t apply(const Atomic& operation, std::uint64_t word) {
  switch (operation.kind) {
    case Atomic::Kind::add: return word + operation.operand;
    case Atomic::Kind::swap: return operation.operand;
    case Atomic::Kind::bit_and: return word & operation.operand;
    case Atomic::Kind::bit_or: return word | operation.operand;
    case Atomic::Kind::bit_xor: return word ^ operation.operand;
    case Atomic::Kind::compare_and_swap: {
      const std::uint64_t mask = operation.bytes == kWord ? ~std::uint64_t{0} : 0xffff'ffffULL;
      return word == (operation.expected & mask) ? operation.operand : word;
    }
  }
  return word;
}

void Transfers::do_atomic(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  const std::uint32_t bytes = transfer.atomic.bytes;
  if (!is_sound(transfer.atomic, transfer.offset)) {
    finish(transfer, ErrorCode::bad_argument);
  } else if (transfer.offset > area.bytes || bytes > area.bytes - transfer.offset) {
    finish(transfer, ErrorCode::out_of_range);
  } else if (!area.atomics) {
    finish(transfer, ErrorCode::unsupported);
  } else if (!area.direct.exists()) {
    transfer.key = static_cast<std::uint64_t>(area.place.key);
    post_atomic(transfer);
  } else if (area.direct.enter()) {
    transfer.tracker->set_value(apply_here(transfer.atomic, area.direct.memory + transfer.offset));
    area.direct.leave();
    finish(transfer, ErrorCode::ok);
  } else {
    forget_area(area);
    finish(transfer, area.code_of_closed());
  }
}

void Transfers::post_atomic(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  const Atomic& operation = transfer.atomic;
  ir::Command command;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{area.rank};
  command.cookie = engine::make_cookie(CookieKind::transfer, transfer.index);
  command.remote = area.place.at(transfer.offset - transfer.offset % kWord);
  command.bytes = 0;
  command.head_bytes = 0;
  if (is_one_command(operation)) {
    const bool adds = operation.kind == Atomic::Kind::add;
    command.operation = adds ? ir::Operation::fetch_and_add : ir::Operation::compare_and_swap;
    command.operand = operation.operand;
    command.expected = operation.expected;
  } else if (!transfer.word_known) {
    command.operation = ir::Operation::fetch_and_add; // of nothing: reads the word
    command.operand = 0;
  } else {
    const Part part(operation, transfer.offset);
    command.operation = ir::Operation::compare_and_swap;
    command.expected = transfer.word;
    command.operand = part.put(transfer.word, apply(operation, part.of(transfer.word)));
  }
  area.connection->queue().post(command);
}

void Transfers::atomic_ended(Transfer& transfer, const ir::Event& event) {
  if (event.status != ir::Status::ok) {
    finish(transfer, code_of(event, transfer.area));
    return;
  }
  const Part part(transfer.atomic, transfer.offset);
  const bool swapped = transfer.word_known && event.value == transfer.word;
  if (is_one_command(transfer.atomic) || swapped) {
    transfer.tracker->set_value(part.of(event.value));
    finish(transfer, ErrorCode::ok);
    return;
  }
  transfer.word = event.value;
  transfer.word_known = true;
  const KnownArea& area = *transfer.area;
  if (area.state != KnownArea::State::open || static_cast<std::uint64_t>(area.place.key) != transfer.key)
    finish(transfer, area.code_of_closed());
  else
    post_atomic(transfer);
}

} // namespace heddle::onesided
