// The key of an area: asking its owner for it, and what the owner says.
#include "onesided/one_sided_engine.hpp"

#include <algorithm>
#include <utility>

namespace heddle::onesided {

namespace {

constexpr std::uint64_t kOwnKey = 1; // of direct access to memory of this process; 0 when it is closed

} // namespace

ErrorCode OneSidedEngine::ask(KnownArea& area) {
  Connection* connection = common_.host.connection_to(area.rank);
  if (connection->failed()) return connection->fate;
  area.connection = connection;
  if (area.rank == common_.engine.rank) return open_own(area);
  common_.tell(*connection, RecordKind::area_ask, AreaAsk{.id = area.id});
  area.state = KnownArea::State::asked;
  return ErrorCode::ok;
}

ErrorCode OneSidedEngine::open_own(KnownArea& area) {
  const OwnArea* own = own_.find(area.id);
  if (own == nullptr) return ErrorCode::unknown_area;
  area.state = KnownArea::State::open;
  area.kind = own->kind;
  const auto ports = common_.host.ports();
  const auto port = static_cast<std::size_t>(
      std::ranges::find(ports, area.connection->port, [](const auto& each) { return each.get(); }) - ports.begin());
  area.place = own->places[port]; // of loopback, through which this process reaches itself, or of a network
  area.bytes = own->memory.size();
  area.atomics = own->atomics[port];
  if (port != 0) return ErrorCode::ok; // the network's atomics and the processor's do not know of each other
  area.own_live.store(kOwnKey, std::memory_order_relaxed);
  area.open_direct(
      {.memory = own->memory.data(), .live = &area.own_live, .key = kOwnKey, .inside = &area.own_inside, .mark = 1});
  return ErrorCode::ok;
}

void OneSidedEngine::granted(Connection& connection, const AreaGrant& grant) {
  KnownArea* area = common_.known.find(connection.rank, grant.id);
  if (area == nullptr || area->state != KnownArea::State::asked) return;
  const auto code = static_cast<ErrorCode>(grant.code);
  if (code != ErrorCode::ok) {
    area->state = KnownArea::State::unknown;
    end_waiting(*area, code);
    return;
  }
  area->state = KnownArea::State::open;
  area->kind = (grant.traits & AreaGrant::kLock) != 0 ? AreaKind::lock : AreaKind::plain;
  area->place = {.key = ir::MemoryKey{grant.key}, .offset = grant.offset};
  area->bytes = grant.bytes;
  area->atomics = (grant.traits & AreaGrant::kAtomics) != 0;
  area->everyone = (grant.traits & AreaGrant::kEveryone) != 0;
  if (area->kind == AreaKind::plain || locks_.fits(*area))
    if (ir::DirectMemory* memory = connection.queue().facets().direct_memory)
      area->open_direct(memory->direct_area(ir::Peer{connection.rank}, area->place, grant.bytes));
  common_.work_list.add(Granted{area});
}

// One at a time: what comes of it, such as that the area is closed, comes before the next. What joins an mcast does nothing yet.
void OneSidedEngine::run_next_waiting(KnownArea& area) {
  for (bool joins = true; joins && area.waiting.head != nullptr;) {
    Transfer& transfer = *area.waiting.head;
    area.waiting.head = std::exchange(transfer.next, nullptr);
    joins = transfer.gathering != nullptr;
    if (area.state == KnownArea::State::open)
      run(transfer);
    else
      transfers_.finish(transfer, area.code_of_closed());
  }
  if (area.waiting.head != nullptr) common_.work_list.add(Granted{&area});
}

void OneSidedEngine::revoked(Connection& connection, const AreaRevoked& record) {
  KnownArea* area = common_.known.find(connection.rank, record.id);
  if (area == nullptr || area->state != KnownArea::State::open || area->place.key != ir::MemoryKey{record.key}) return;
  transfers_.forget_area(*area);
}

void OneSidedEngine::end_waiting(KnownArea& area, ErrorCode code) {
  Transfer* waiting = area.waiting.head;
  area.waiting = {};
  while (waiting != nullptr) {
    Transfer* next = waiting->next;
    transfers_.finish(*waiting, code);
    waiting = next;
  }
}

} // namespace heddle::onesided
