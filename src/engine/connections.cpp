// Connections of this process: made when they are first needed, ready when the connector says so.
#include "engine/engine.hpp"

#include "base/size_text.hpp"

#include <new>
#include <string>
#include <utility>

namespace heddle::engine {

Connection* Engine::connection_to(std::uint32_t rank) {
  if (rank >= state_.book.size()) return nullptr;
  if (connections_[rank] != nullptr) {
    if (connections_[rank]->broke) [[unlikely]]
      renew(rank);
    return connections_[rank];
  }
  Connection& made = make_connection(rank);
  Result<ir::RemotePlace> area;
  try {
    area = made.queue().translator().attach(ir::Peer{rank}, contacts_[rank].address);
  } catch (const std::bad_alloc&) { // the next call may find some
    connections_[rank] = nullptr;
    owned_connections_.pop_back();
    throw;
  }
  if (area) {
    made.attached = true;
    made.peer_area = *area;
    made.queue().attached(ir::Peer{rank});
  } else {
    state_.recorder.record("attach failed", rank, static_cast<std::uint64_t>(area.error().system_code));
    unreachable_.emplace(rank, std::move(area.error()));
    made.absent = news_expected_ && unreachable_.at(rank).code == ErrorCode::unreachable;
    if (made.absent)
      absent_.push_back(&made);
    else
      fail(made, End::connection_lost);
  }
  if (area && rank == state_.rank) connect_to_self(made);
  return &made;
}

// Where there is no memory for it, the next call may find some: there is no connection then.
void Engine::connect_to_self(Connection& connection) {
  bool connected = false;
  try {
    connected = connector_.connect_to_self(connection);
  } catch (const std::bad_alloc&) {
  }
  if (!connected) {
    take_back(connection);
    connections_[connection.rank] = nullptr;
    owned_connections_.pop_back();
    throw std::bad_alloc();
  }
  lonely_ = nullptr;
}

Connection& Engine::make_connection(std::uint32_t rank) {
  Connection& connection = owned_connections_.emplace_back();
  connection.rank = rank;
  connection.port = ports_[contacts_[rank].port].get();
  connections_[rank] = &connection;
  return connection;
}

void Engine::open(Connection& connection) {
  if (connection.absent) return;
  if (grants_by_read(connection.queue()))
    grant_by_read_.start(connection);
  else
    connector_.start(connection);
}

void Engine::give_up_news() {
  for (Connection* connection : std::exchange(absent_, {}))
    if (!connection->failed()) fail(*connection, End::connection_lost);
}

void Engine::established(Connection& connection) {
  if (connection.parting) return part_with(connection);
  state_.recorder.record("connected", connection.rank, connection.ring.grant.bytes, connection.writes_shared ? 1 : 0);
  if (connection.port->announces)
    connection.port->listens = true;
  else if (connection.reader.exists())
    readable_.push_back(&connection);
  if (connection.reader.exists() && connection.reader.report_due())
    record_writer_.report_consumed(connection); // could not be told before
  ir::DirectMemory* memory = connection.queue().facets().direct_memory;
  if (!connection.writes_shared && memory != nullptr)
    connection.direct = memory->direct_ring(ir::Peer{connection.rank}, connection.grant.place, connection.grant.bytes);
  pump_later(connection);
  state_.say(LogLevel::debug, [&connection] {
    return "connected to rank " + std::to_string(connection.rank) + " by " +
           std::string(connection.queue().translator().name()) + ": it gives a " +
           (connection.writes_shared ? "shared ring of " : "ring of ") + base::print_size(connection.grant.bytes) +
           ", and gets " + (connection.ring.grant.type == RingType::shared ? "a shared one of " : "one of ") +
           base::print_size(connection.ring.grant.bytes);
  });
}

} // namespace heddle::engine
