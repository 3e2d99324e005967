#include "onesided/areas/own_areas.hpp"

#include "base/memory_range.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace heddle::onesided {

namespace {

// Peers do atomics on 4 bytes by the 8 around them: memory of the library is whole words.
constexpr std::size_t kRounding = 8;
constexpr std::size_t kNoPort = ~std::size_t{0};
// So that sizes can be rounded up without wrapping.
constexpr std::size_t kMostBytes = ~std::size_t{0} / 2;

} // namespace

OwnAreaTable::~OwnAreaTable() {
  for (auto& [id, area] : areas_) static_cast<void>(shut(area));
}

Result<void> OwnAreaTable::check_new(std::uint64_t id, const Access& access) const {
  if (areas_.contains(id))
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "area " + std::to_string(id) + " is open here already",
                                 .remedy = "close it first, or use another id"});
  for (const Rank peer : access.peers)
    if (static_cast<std::uint32_t>(peer) >= common_.engine.book.size())
      return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                   .fact = "area " + std::to_string(id) + " cannot be opened to rank " +
                                           std::to_string(static_cast<std::uint32_t>(peer)) + ", outside the job of " +
                                           std::to_string(common_.engine.book.size()) + " processes"});
  return {};
}

Result<std::span<std::byte>> OwnAreaTable::allocate(std::uint64_t id, std::size_t bytes, const Access& access,
                                                    AreaKind kind) {
  if (auto sound = check_new(id, access); !sound) return std::unexpected(std::move(sound.error()));
  const auto ports = common_.host.ports();
  const std::size_t at = port_for_areas();
  ScheduleQueue& queue = *ports[at]->queue;
  OwnArea area{.memory = {}, .access = access, .kind = kind, .allocated_at = at, .allocated = true, .granted = {}};
  if (bytes > kMostBytes)
    return std::unexpected(
        Error{.code = ErrorCode::out_of_memory,
              .fact = "no memory has the " + std::to_string(bytes) + " bytes of area " + std::to_string(id)});
  auto memory = ir::allocate_area(queue.translator(), (bytes + kRounding - 1) / kRounding * kRounding);
  if (!memory) {
    memory.error().fact = "area " + std::to_string(id) + " is not allocated: " + memory.error().fact;
    return std::unexpected(std::move(memory.error()));
  }
  area.memory = memory->memory.first(bytes);
  area.places.resize(ports.size());
  area.places[at] = memory->place;
  area.atomics.assign(ports.size(), queue.capabilities().atomics);
  if (auto opened = open_on_ports(area, area.allocated_at); !opened) {
    static_cast<void>(shut(area)); // nobody has a key to it
    return std::unexpected(std::move(opened.error()));
  }
  const std::span<std::byte> given = area.memory;
  areas_.emplace(id, std::move(area));
  return given;
}

Result<void> OwnAreaTable::expose(std::uint64_t id, std::span<std::byte> memory, const Access& access) {
  if (auto sound = check_new(id, access); !sound) return sound;
  if (!base::can_exist(memory))
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "area " + std::to_string(id) + " was given " + std::to_string(memory.size()) +
                      (memory.data() == nullptr ? " bytes behind a null pointer"
                                                : " bytes from its address on, past the end of the address space"),
              .remedy = "give valid memory, or no bytes"});
  const auto ports = common_.host.ports();
  OwnArea area{.memory = memory, .access = access, .granted = {}};
  area.places.resize(ports.size());
  area.atomics.assign(ports.size(), false);
  if (auto opened = open_on_ports(area, kNoPort); !opened) {
    static_cast<void>(shut(area)); // nobody has a key to it
    opened.error().code = ErrorCode::unsupported;
    return opened;
  }
  areas_.emplace(id, std::move(area));
  return {};
}

// The memory of a network that does atomics on no other serves all, those that do it anywhere included.
std::size_t OwnAreaTable::port_for_areas() const {
  const auto ports = common_.host.ports();
  std::size_t at = ports.size() - 1;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (const ir::Capabilities& each = ports[i]->queue->capabilities(); each.atomics && !each.atomics_on_any_memory)
      at = i;
  return at;
}

Result<void> OwnAreaTable::open_on_ports(OwnArea& area, std::size_t except) {
  const auto ports = common_.host.ports();
  const bool whole_words =
      reinterpret_cast<std::uintptr_t>(area.memory.data()) % kRounding == 0 && area.memory.size() % kRounding == 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (i == except) continue;
    const ir::Capabilities& capabilities = ports[i]->queue->capabilities();
    auto place = ir::expose_area(ports[i]->queue->translator(), area.memory);
    if (!place) return std::unexpected(std::move(place.error()));
    area.places[i] = *place;
    area.atomics[i] = capabilities.atomics && capabilities.atomics_on_any_memory && (area.allocated || whole_words);
  }
  return {};
}

Result<void> OwnAreaTable::shut(OwnArea& area) {
  const auto ports = common_.host.ports();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (area.places[i].key == ir::MemoryKey{}) continue;
    if (auto closed = ir::close_area(ports[i]->queue->translator(), area.places[i]); !closed) return closed;
  }
  if (area.allocated)
    ir::release_area(ports[area.allocated_at]->queue->translator(),
                     {.memory = area.memory, .place = area.places[area.allocated_at]});
  return {};
}

Result<void> OwnAreaTable::close(std::uint64_t id) {
  const auto found = areas_.find(id);
  if (found == areas_.end())
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument, .fact = "area " + std::to_string(id) + " is not open here"});
  OwnArea& area = found->second;
  for (const std::uint32_t rank : area.granted) {
    Connection* connection = common_.host.connection_to(rank);
    if (connection == nullptr || connection->failed()) continue;
    common_.tell(*connection, RecordKind::area_revoked,
                 AreaRevoked{.id = id, .key = static_cast<std::uint64_t>(area.places[port_of(*connection)].key)});
  }
  area.granted.clear();
  area.closing = true;
  if (auto closed = shut(area); !closed) {
    closed.error().fact = "area " + std::to_string(id) + " cannot be closed yet: " + closed.error().fact;
    return closed;
  }
  areas_.erase(found);
  return {};
}

std::size_t OwnAreaTable::port_of(const Connection& connection) const {
  const auto ports = common_.host.ports();
  return static_cast<std::size_t>(
      std::find_if(ports.begin(), ports.end(), [&](const auto& port) { return port.get() == connection.port; }) -
      ports.begin());
}

void OwnAreaTable::asked(Connection& connection, const AreaAsk& ask) {
  AreaGrant grant{.id = ask.id, .code = static_cast<std::uint32_t>(ErrorCode::ok)};
  OwnArea* area = find(ask.id);
  const auto& peers = area == nullptr ? std::vector<Rank>{} : area->access.peers;
  if (area == nullptr) {
    grant.code = static_cast<std::uint32_t>(ErrorCode::unknown_area);
  } else if (!area->access.everyone && std::find(peers.begin(), peers.end(), Rank{connection.rank}) == peers.end()) {
    grant.code = static_cast<std::uint32_t>(ErrorCode::closed_area);
  } else {
    const std::size_t port = port_of(connection);
    grant.key = static_cast<std::uint64_t>(area->places[port].key);
    grant.offset = area->places[port].offset;
    grant.bytes = area->memory.size();
    grant.traits = (area->atomics[port] ? AreaGrant::kAtomics : 0U) |
                   (area->access.everyone ? AreaGrant::kEveryone : 0U) |
                   (area->kind == AreaKind::lock ? AreaGrant::kLock : 0U);
    area->granted.insert(connection.rank);
  }
  common_.engine.recorder.record("area asked for", connection.rank, ask.id, grant.code);
  common_.tell(connection, RecordKind::area_grant, grant);
}

const OwnArea* OwnAreaTable::opened_by(const Connection& connection, std::uint64_t id, std::uint64_t key) {
  const OwnArea* area = find(id);
  const bool opened = area != nullptr && area->kind == AreaKind::plain &&
                      (connection.rank == common_.engine.rank || area->granted.contains(connection.rank)) &&
                      static_cast<std::uint64_t>(area->places[port_of(connection)].key) == key;
  return opened ? area : nullptr;
}

std::optional<ErrorCode> OwnAreaTable::scatter(const Connection& connection, const AreaScatter& head,
                                               std::span<const std::byte> runs) {
  const OwnArea* area = opened_by(connection, head.id, head.key);
  if (area == nullptr) return ErrorCode::revoked_area;
  if (head.offset > area->memory.size()) return ErrorCode::out_of_range;
  const std::span<std::byte> memory = area->memory.subspan(head.offset);
  // Twice over the runs: all of them are looked at before anything is changed.
  for (const bool apply : {false, true}) {
    for (std::span<const std::byte> rest = runs; !rest.empty();) {
      ScatterRun run;
      if (rest.size() < sizeof run) return std::nullopt;
      std::memcpy(&run, rest.data(), sizeof run);
      rest = rest.subspan(sizeof run);
      if (rest.size() < run.bytes) return std::nullopt;
      if (run.at > memory.size() || run.bytes > memory.size() - run.at) return ErrorCode::out_of_range;
      if (apply) std::memcpy(memory.data() + run.at, rest.data(), run.bytes);
      rest = rest.subspan(run.bytes);
    }
  }
  return ErrorCode::ok;
}

void OwnAreaTable::signalled(Connection& connection, const AreaSignal& signal) {
  if (opened_by(connection, signal.id, signal.key) == nullptr) return;
  const Event event{.kind = Event::Kind::pushed,
                    .cookie = signal.id,
                    .completion = {.code = ErrorCode::ok,
                                   .peer = Rank{connection.rank},
                                   .tag = Tag{signal.label},
                                   .bytes = signal.bytes,
                                   .message_bytes = signal.bytes},
                    .unsolicited = {}};
  if (!common_.engine.may_deliver()) throw std::bad_alloc(); // the record stays in its ring
  common_.engine.events.push_now(event);
}

} // namespace heddle::onesided
