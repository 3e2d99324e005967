#include "onesided/transfers/transfers.hpp"

#include "base/shared_words.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::onesided {

namespace {

// Reads of one operation that are under way at once: enough to keep a network busy, few enough to leave room for others. Puts
// all go at once, because those of a later push must not overtake them.
constexpr std::uint32_t kMostReads = 32;
// Small puts that go without an event of their own where puts arrive in order: the next one's stands for them.
constexpr std::uint32_t kMostUnsignalled = 32;

// Bytes behind a null pointer.
template <typename Item>
bool is_null(std::span<Item> memory) {
  return memory.data() == nullptr && !memory.empty();
}

} // namespace

Transfer& Transfers::take(Transfer::Kind kind, Tracker& tracker) {
  if (free_.empty()) {
    const auto index = static_cast<std::uint32_t>(pool_.size());
    if (free_.capacity() <= pool_.size()) free_.reserve(2 * pool_.size() + 8); // so that giving back needs no memory
    free_.push_back(&pool_.emplace_back());
    free_.back()->index = index;
  }
  Transfer& transfer = *free_.back();
  free_.pop_back();
  base::BackedVector<std::byte> buffer = std::move(transfer.packed);
  buffer.clear();
  transfer = {.index = transfer.index, .kind = kind, .tracker = &tracker};
  transfer.packed = std::move(buffer);
  return transfer;
}

void Transfers::finish(Transfer& transfer, ErrorCode code) {
  transfer.scattered = false;
  if (transfer.gathering != nullptr) release(common_, *transfer.gathering); // it does not take part
  transfer.gathering = nullptr;
  transfer.tracker->end(code);
  free_.push_back(&transfer);
}

void Transfers::forget_area(KnownArea& area) {
  if (area.state != KnownArea::State::open) return;
  area.shut();
  if (area.rank != common_.engine.rank && !area.connection->failed())
    if (ir::DirectMemory* memory = area.connection->queue().facets().direct_memory)
      memory->leave_area(ir::Peer{area.rank}, area.place);
  common_.closed(area);
}

void Transfers::run(Transfer& transfer) {
  if (transfer.kind == Transfer::Kind::atomic)
    do_atomic(transfer);
  else
    move(transfer);
}

ErrorCode Transfers::prepare(Transfer& transfer) {
  const KnownArea& area = *transfer.area;
  if (is_null(transfer.local) || is_null(transfer.twin) || is_null(transfer.selection.bits) ||
      is_null(transfer.selection.twin))
    return ErrorCode::bad_argument;
  const bool is_pull = transfer.kind == Transfer::Kind::pull;
  const auto reach = extent(transfer.selection, transfer.local.size());
  const bool twin_fits = transfer.twin.empty() || transfer.twin.size() == transfer.local.size();
  if (!reach || !twin_fits || (is_pull && transfer.selection.kind == Selection::Kind::changed))
    return ErrorCode::bad_argument;
  if (transfer.offset > area.bytes || *reach > area.bytes - transfer.offset) return ErrorCode::out_of_range;
  transfer.cursor = PieceCursor(transfer.selection, transfer.local);
  transfer.key = static_cast<std::uint64_t>(area.place.key);
  return ErrorCode::ok;
}

void Transfers::move(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  if (const ErrorCode code = prepare(transfer); code != ErrorCode::ok) {
    finish(transfer, code);
    return;
  }
  if (area.direct.exists()) {
    move_directly(transfer);
    return;
  }
  transfer.scattered = better_scattered(transfer);
  if (transfer.scattered) {
    transfer.held_back = !scatter(transfer);
    if (transfer.held_back) common_.work_list.retry(Scattering{&transfer});
    return;
  }
  transfer.more = transfer.cursor.next(transfer.piece, area.connection->queue().capabilities().largest_transfer);
  if (!transfer.more && area.connection->queue().capabilities().orders_puts) give_signal(transfer); // of nothing
  post_pieces(transfer);
  end_if_done(transfer);
}

void Transfers::move_directly(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  if (!area.direct.enter()) {
    forget_area(area);
    finish(transfer, area.code_of_closed());
    return;
  }
  const bool is_pull = transfer.kind == Transfer::Kind::pull;
  std::byte* memory = area.direct.memory + transfer.offset;
  for (Piece piece; transfer.cursor.next(piece, ~std::uint64_t{0});) {
    std::byte* local = transfer.local.data() + piece.local;
    if (is_pull)
      base::copy_bytes(local, memory + piece.remote, piece.bytes);
    else
      base::store_in_order(memory + piece.remote, local, piece.bytes);
  }
  area.direct.leave();
  if (is_pull) keep_twin(transfer);
  give_signal(transfer);
  finish(transfer, ErrorCode::ok);
}

void Transfers::post_pieces(Transfer& transfer) {
  const std::uint32_t most = transfer.kind == Transfer::Kind::pull ? kMostReads : ~std::uint32_t{0};
  while (transfer.more && transfer.in_flight < most && transfer.code == ErrorCode::ok) post_piece(transfer);
}

void Transfers::post_piece(Transfer& transfer) {
  KnownArea& area = *transfer.area;
  ScheduleQueue& queue = area.connection->queue();
  const ir::Capabilities& capabilities = queue.capabilities();
  const Piece piece = transfer.piece;
  transfer.more = transfer.cursor.next(transfer.piece, capabilities.largest_transfer);
  ir::Command command;
  command.peer = ir::Peer{area.rank};
  command.cookie = engine::make_cookie(CookieKind::transfer, transfer.index);
  command.remote = area.place.at(transfer.offset + piece.remote);
  command.local = transfer.local.data() + piece.local;
  command.bytes = piece.bytes;
  command.head_bytes = 0;
  command.operation = transfer.kind == Transfer::Kind::pull ? ir::Operation::get : ir::Operation::put;
  bool signalled = true;
  if (transfer.kind == Transfer::Kind::push && piece.bytes <= ir::kHeadBytes && !capabilities.processor_copies) {
    std::memcpy(command.head.data(), command.local, piece.bytes);
    command.head_bytes = static_cast<std::uint32_t>(piece.bytes);
    command.bytes = 0;
    signalled = !capabilities.orders_puts || !transfer.more || ++transfer.unsignalled == kMostUnsignalled;
  }
  command.flags = signalled ? ir::Flags::signalled : ir::Flags::none;
  if (signalled) {
    transfer.unsignalled = 0;
    ++transfer.in_flight;
  }
  queue.post(command);
  // The record of the signal follows the last put on the same way. Where that put is refused, the area is closed, and its owner
  // does not believe the signal.
  if (!transfer.more && capabilities.orders_puts) give_signal(transfer);
}

void Transfers::give_signal(const Transfer& transfer) {
  if (!transfer.signal.wanted) return;
  const AreaSignal signal{.id = transfer.area->id,
                          .key = transfer.key,
                          .label = static_cast<std::uint64_t>(transfer.signal.label),
                          .bytes = transfer.cursor.selected()};
  if (transfer.area->connection != nullptr) common_.tell(*transfer.area->connection, RecordKind::area_signal, signal);
}

void Transfers::keep_twin(const Transfer& transfer) {
  if (transfer.twin.empty()) return;
  PieceCursor cursor(transfer.selection, transfer.local);
  for (Piece piece; cursor.next(piece, ~std::uint64_t{0});)
    std::memcpy(transfer.twin.data() + piece.local, transfer.local.data() + piece.local, piece.bytes);
}

void Transfers::end_if_done(Transfer& transfer) {
  const bool stopped = !transfer.more || transfer.code != ErrorCode::ok;
  if (!stopped || transfer.in_flight > 0) return;
  if (transfer.code == ErrorCode::ok) {
    if (transfer.kind == Transfer::Kind::pull) keep_twin(transfer);
    const bool told = transfer.area->connection->queue().capabilities().orders_puts && !transfer.scattered;
    if (transfer.kind == Transfer::Kind::push && !told) give_signal(transfer);
  }
  finish(transfer, transfer.code);
}

void Transfers::command_ended(const ir::Event& event) {
  Transfer& transfer = pool_[engine::cookie_number(event.cookie)];
  KnownArea& area = *transfer.area;
  if (event.status == ir::Status::refused && static_cast<std::uint64_t>(area.place.key) == transfer.key)
    forget_area(area);
  if (transfer.kind == Transfer::Kind::atomic) {
    atomic_ended(transfer, event);
    return;
  }
  --transfer.in_flight;
  if (event.status != ir::Status::ok) transfer.code = code_of(event, &area);
  const bool still_open =
      area.state == KnownArea::State::open && static_cast<std::uint64_t>(area.place.key) == transfer.key;
  if (transfer.more && transfer.code == ErrorCode::ok && !still_open) transfer.code = area.code_of_closed();
  post_pieces(transfer);
  end_if_done(transfer);
}

} // namespace heddle::onesided
