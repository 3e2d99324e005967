// How an engine is made: its parts, a port for each translator, and the peers' contacts. What it does stands in files of their own:
// send, receive, connections, progress, read_rings, dispatch, endings, open_world, composite and report.
#include "engine/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::engine {

Engine::Engine(std::uint32_t rank, std::uint32_t size, const Limits& limits, base::FlightRecorder& recorder)
    : state_(rank, size, limits, recorder),
      fetcher_(state_, record_writer_),
      assistant_(state_, record_writer_),
      sender_(state_, record_writer_),
      receiver_(state_, record_writer_, fetcher_),
      connector_(state_, *this),
      grant_by_read_(state_, *this),
      connections_(size, nullptr) {
  register_record_rows();
  register_command_rows();
  handlers_.add_end_row(end_row(sender_, [](Sender& sender, Connection& connection, PeerEnd end) {
    if (end.is_first()) sender.peer_lost(connection);
  }));
  handlers_.add_end_row(end_row(receiver_, [](Receiver& receiver, Connection& connection, PeerEnd end) {
    if (end.is_first()) receiver.peer_lost(connection);
  }));
  removed_.state = connection::step(removed_.state, connection::Input::ended).next;
  removed_.dead = true;
  removed_.fate = ErrorCode::cancelled;
  broken_.state = removed_.state;
  broken_.dead = true;
  broken_.fate = ErrorCode::connection_lost;
}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(std::uint32_t rank, std::uint32_t size, const Limits& limits,
                                               std::span<ScheduleQueue* const> queues, base::FlightRecorder& recorder) {
  if (!base::Reserve::keep()) return std::unexpected(no_memory());
  std::unique_ptr<Engine> engine(new Engine(rank, size, limits, recorder));
  engine->state_.rings.share_between(queues.size());
  for (ScheduleQueue* queue : queues) {
    if (limits.plans_engines) queue->plan_engines();
    const bool by_reading = grants_by_read(*queue);
    auto memory = queue->translator().allocate(sizeof(BootstrapArea) + (by_reading ? size * kDirectoryEntryBytes : 0));
    if (!memory) return std::unexpected(memory.error());
    auto port = std::make_unique<Port>();
    port->queue = queue;
    port->memory = *memory;
    port->announces = queue->capabilities().announces_writes;
    port->area = new (memory->memory.data()) BootstrapArea{};
    engine->ports_.push_back(std::move(port));
  }
  return engine;
}

void Engine::set_contacts(std::vector<Contact> contacts, Uid first) {
  state_.book = Book(first, static_cast<std::uint32_t>(contacts.size()));
  contacts_ = std::move(contacts);
  peers_ = contacts_.size();
  for (std::uint32_t rank = 0; rank < peers_; ++rank)
    if (rank != state_.rank) may_be_heard_of(rank);
  const std::uint8_t own = contacts_[state_.rank].port;
  const auto users = std::count_if(contacts_.begin(), contacts_.end(), [&](const Contact& c) { return c.port == own; });
  // Only where nobody else can come: by a network that serves this process alone so far, others may in an open world.
  const bool to_self_alone = own == 0; // Context::State::build
  lonely_ = to_self_alone && users == 1 && connections_[state_.rank] == nullptr ? ports_[own].get() : nullptr;
}

} // namespace heddle::engine
