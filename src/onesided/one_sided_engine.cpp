#include "onesided/one_sided_engine.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace heddle::onesided {

namespace {

AreaKind wanted_of(Transfer::Kind kind) {
  switch (kind) {
    case Transfer::Kind::push:
    case Transfer::Kind::pull:
    case Transfer::Kind::atomic: return AreaKind::plain;
    case Transfer::Kind::lock:
    case Transfer::Kind::try_lock:
    case Transfer::Kind::unlock: return AreaKind::lock;
  }
  return AreaKind::plain;
}

// A function for each alternative of a variant.
template <typename... Functions>
struct Each : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Each(Functions...) -> Each<Functions...>;

} // namespace

OneSidedEngine::OneSidedEngine(const engine::Services& services)
    : handlers_(services.handlers),
      common_{.engine = services.state, .record_writer = services.record_writer, .host = services.host},
      own_(common_),
      transfers_(common_),
      relays_(common_, transfers_, own_),
      multicasts_(common_, transfers_, relays_),
      locks_(common_) {
  register_rows();
}

OneSidedEngine::~OneSidedEngine() {
  handlers_.remove(this);
  handlers_.remove(static_cast<const engine::Protocol&>(*this));
}

Result<void> OneSidedEngine::close(AreaId id) {
  const auto number = static_cast<std::uint64_t>(id);
  if (KnownArea* area = common_.known.find(common_.engine.rank, number)) {
    area->own_live.store(0, std::memory_order_relaxed);
    transfers_.forget_area(*area);
    settle();
  }
  return own_.close(number);
}

Result<void> OneSidedEngine::create_lock(AreaId id) {
  auto memory = own_.allocate(static_cast<std::uint64_t>(id), locks_.bytes(), Access::all(), AreaKind::lock);
  if (!memory) return std::unexpected(std::move(memory.error()));
  return {};
}

template <typename Fill>
void OneSidedEngine::begin(Transfer::Kind kind, Rank rank, AreaId id, Tracker& tracker, const Fill& fill) {
  tracker.begin();
  if (!base::Reserve::may_begin()) {
    tracker.end(ErrorCode::out_of_memory);
    return;
  }
  Transfer* transfer = nullptr;
  try {
    transfer = &transfers_.take(kind, tracker);
    fill(*transfer);
    admit(*transfer, static_cast<std::uint32_t>(rank), static_cast<std::uint64_t>(id));
  } catch (const std::bad_alloc&) { // before anything was begun
    if (transfer != nullptr)
      transfers_.finish(*transfer, ErrorCode::out_of_memory);
    else
      tracker.end(ErrorCode::out_of_memory);
  }
}

void OneSidedEngine::start(Transfer::Kind kind, const Move& move, Tracker& tracker, Gathering* gathering) {
  if (gathering != nullptr) ++gathering->awaited;
  begin(kind, move.place.peer, move.place.area, tracker, [&](Transfer& transfer) {
    transfer.offset = move.place.offset;
    transfer.local = move.local;
    transfer.selection = move.selection;
    transfer.signal = move.signal;
    transfer.twin = move.twin;
    transfer.gathering = std::exchange(gathering, nullptr);
  });
  if (gathering != nullptr) release(common_, *gathering); // there was no memory for it
}

void OneSidedEngine::mcast(std::span<const Rank> peers, const Move& move, Tracker& tracker) {
  const bool plain = move.selection.kind == Selection::Kind::all && !move.signal.wanted;
  tracker.begin(); // so that it does not end between two receivers
  if (peers.data() == nullptr && !peers.empty()) {
    tracker.end(ErrorCode::bad_argument);
    return;
  }
  Gathering* gathered = nullptr;
  try {
    gathered = &multicasts_.gather(peers.size());
  } catch (const std::bad_alloc&) {
    tracker.end(ErrorCode::out_of_memory);
    return;
  }
  Gathering& gathering = *gathered;
  for (const Rank peer : peers) {
    Move one = move;
    one.place.peer = peer;
    if (!plain || !push_now(one.place, one.local)) start(Transfer::Kind::push, one, tracker, &gathering);
  }
  release(common_, gathering); // all have been named
  settle();
  tracker.end(ErrorCode::ok);
}

void OneSidedEngine::atomic(const Place& at, const Atomic& operation, Tracker& tracker) {
  begin(Transfer::Kind::atomic, at.peer, at.area, tracker, [&](Transfer& transfer) {
    transfer.offset = at.offset;
    transfer.atomic = operation;
  });
  settle();
}

void OneSidedEngine::start_lock(Transfer::Kind kind, Rank home, AreaId id, Tracker& tracker) {
  begin(kind, home, id, tracker, [](Transfer&) {});
  settle();
}

void OneSidedEngine::admit(Transfer& transfer, std::uint32_t rank, std::uint64_t id) {
  if (rank >= common_.engine.book.size()) {
    transfers_.finish(transfer, ErrorCode::bad_argument);
    return;
  }
  KnownArea& area = common_.known.find_or_add(rank, id);
  transfer.area = &area;
  if (area.state == KnownArea::State::unknown)
    if (const ErrorCode code = ask(area); code != ErrorCode::ok) {
      transfers_.finish(transfer, code);
      return;
    }
  if (area.state == KnownArea::State::open) {
    run(transfer);
    return;
  }
  (area.waiting.head == nullptr ? area.waiting.head : area.waiting.tail->next) = &transfer;
  area.waiting.tail = &transfer;
}

void OneSidedEngine::run(Transfer& transfer) {
  if (wanted_of(transfer.kind) != transfer.area->kind) {
    transfers_.finish(transfer, ErrorCode::bad_argument);
    return;
  }
  if (transfer.gathering != nullptr) {
    multicasts_.joined(transfer);
    return;
  }
  switch (transfer.kind) {
    case Transfer::Kind::push:
    case Transfer::Kind::pull:
    case Transfer::Kind::atomic: transfers_.run(transfer); break;
    case Transfer::Kind::lock:
    case Transfer::Kind::try_lock:
    case Transfer::Kind::unlock: {
      KnownArea& area = *transfer.area;
      Tracker& tracker = *transfer.tracker;
      tracker.begin(); // the lock's, beside the transfer's, which has done its part
      const Transfer::Kind kind = transfer.kind;
      transfers_.finish(transfer, ErrorCode::ok);
      if (kind == Transfer::Kind::lock)
        locks_.lock(area, tracker);
      else if (kind == Transfer::Kind::try_lock)
        locks_.try_lock(area, tracker);
      else
        locks_.unlock(area, tracker);
      break;
    }
  }
}

bool OneSidedEngine::scatter(Connection& connection, std::span<const std::byte> content) {
  AreaScatter head;
  if (content.size() < sizeof head) return false;
  std::memcpy(&head, content.data(), sizeof head);
  const auto code = own_.scatter(connection, head, content.subspan(sizeof head));
  if (!code) return false;
  common_.tell(connection, RecordKind::area_scattered,
               AreaScattered{.transfer = head.transfer, .code = static_cast<std::uint64_t>(*code)});
  return true;
}

void OneSidedEngine::peer_lost(Connection& connection) {
  for (KnownArea& area : common_.known.all()) {
    if (area.rank != connection.rank) continue;
    area.shut();
    locks_.lost(area, connection.fate);
    end_waiting(area, connection.fate);
  }
  transfers_.peer_lost(connection);
  relays_.peer_lost(connection);
  locks_.peer_failed();
}

// --- what has to be done ---

void OneSidedEngine::settle() {
  common_.work_list.settle(Each{[this](const Granted& task) { run_next_waiting(*task.area); },
                                [this](const Closed& task) {
                                  transfers_.forget_area(*task.area);
                                  locks_.lost(*task.area, task.area->code_of_closed());
                                },
                                [this](const Gathered& task) { multicasts_.launch(*task.gathering); }});
}

std::size_t OneSidedEngine::progress() {
  const std::size_t done = common_.work_list.try_all(
      Each{[](std::monostate) { return true; }, [this](const LockTurn& turn) { return locks_.look(*turn.area); },
           [this](const Scattering& each) { return transfers_.scatter_again(*each.transfer); },
           [this](const RelayMessage& message) { return relays_.write(message.bytes); },
           [this](const Missed& missed) {
             relays_.make_up_for(missed);
             return true;
           }});
  settle();
  return done;
}

std::string OneSidedEngine::waiting_for() {
  std::string text;
  for (KnownArea& area : common_.known.all()) {
    const std::string where = "area " + std::to_string(area.id) + " of rank " + std::to_string(area.rank);
    if (area.waiting.head != nullptr) text += "one-sided operation on " + where + ": waits for the owner's key\n";
    if (area.seat.tracker != nullptr)
      text += "lock in " + where + ": ticket " + std::to_string(area.seat.ticket) +
              (area.seat.state == lock::State::waiting ? " waits for its turn\n" : " is under way\n");
  }
  if (transfers_.under_way() > 0)
    text += std::to_string(transfers_.under_way()) + " one-sided operations are under way\n";
  return text;
}

} // namespace heddle::onesided
