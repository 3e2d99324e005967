#include "engine/engine.hpp"

#include "base/size_text.hpp"
#include "engine/fate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace heddle::engine {

Engine::Engine(std::uint32_t rank, std::uint32_t size, const Limits& limits, base::FlightRecorder& recorder)
    : state_(rank, size, limits, recorder),
      fetcher_(state_, outbox_),
      assistant_(state_, outbox_),
      sender_(state_, outbox_),
      receiver_(state_, outbox_, fetcher_),
      connector_(state_, *this),
      grant_by_read_(state_, *this),
      connections_(size, nullptr) {
  enter_record_rows();
  enter_command_rows();
  handlers_.tell_of_ends(end_row(sender_, [](Sender& sender, Connection& connection, PeerEnd end) {
    if (end.is_first()) sender.peer_lost(connection);
  }));
  handlers_.tell_of_ends(end_row(receiver_, [](Receiver& receiver, Connection& connection, PeerEnd end) {
    if (end.is_first()) receiver.peer_lost(connection);
  }));
  removed_.state = connection::step(removed_.state, connection::Input::ended).next;
  removed_.dead = true;
  removed_.fate = ErrorCode::cancelled;
}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(std::uint32_t rank, std::uint32_t size, const Limits& limits,
                                               std::span<ScheduleQueue* const> queues, base::FlightRecorder& recorder) {
  if (!base::Reserve::keep()) return std::unexpected(no_memory());
  std::unique_ptr<Engine> engine(new Engine(rank, size, limits, recorder));
  engine->state_.rings.share_between(queues.size());
  for (ScheduleQueue* queue : queues) {
    const bool by_reading = grants_by_read(*queue);
    auto memory = queue->translator().allocate(sizeof(BootstrapArea) + (by_reading ? size * kDirectoryEntryBytes : 0));
    if (!memory) return std::unexpected(memory.error());
    auto port = std::make_unique<Port>();
    port->queue = queue;
    port->memory = *memory;
    port->announces = queue->capabilities().announces_writes;
    port->area = new (memory->memory.data()) BootstrapArea{};
    engine->busy_ports_.push_back(port.get());
    engine->ports_.push_back(std::move(port));
  }
  return engine;
}

void Engine::set_contacts(std::vector<Contact> contacts, Uid first) {
  state_.book = Book(first, static_cast<std::uint32_t>(contacts.size()));
  contacts_ = std::move(contacts);
  peers_ = contacts_.size();
  const std::uint8_t own = contacts_[state_.rank].port;
  const auto users = std::count_if(contacts_.begin(), contacts_.end(), [&](const Contact& c) { return c.port == own; });
  lonely_ = users == 1 && connections_[state_.rank] == nullptr ? ports_[own].get() : nullptr;
}

// --- connections ---

Connection* Engine::connection_to(std::uint32_t rank) {
  if (rank >= state_.book.size()) return nullptr;
  if (connections_[rank] != nullptr) return connections_[rank];
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

void Engine::give_up_news() {
  for (Connection* connection : std::exchange(absent_, {}))
    if (!connection->failed()) fail(*connection, End::connection_lost);
}

void Engine::established(Connection& connection) {
  if (connection.parting) return part_with(connection);
  state_.recorder.record("connected", connection.rank, connection.ring.grant.bytes, connection.writes_shared ? 1 : 0);
  if (connection.reader.exists() && !connection.port->announces) readable_.push_back(&connection);
  if (connection.reader.exists() && connection.reader.report_due())
    outbox_.report_consumed(connection); // could not be told before
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

void Engine::lost(Connection& connection, const char* why) {
  if (connection.parting) return part_with(connection);
  state_.recorder.record(why, connection.rank);
  connection.why = why;
  fail(connection, End::connection_lost);
}

void Engine::fail(Connection& connection, End how) {
  const bool could_write = connection.connected();
  tell_end(connection, how);
  connector_.end(connection);
  const std::uint32_t number = connection.number_there != Connection::kUnknown ? connection.number_there : state_.rank;
  Connector::free_lock_of(*connection.port, incarnation_of(state_.book.uid(connection.rank), number));
  connection.direct = {};
  connection.held_back = false;
  if (connection.absent) std::erase(absent_, &connection);
  std::erase(readable_, &connection);
  handlers_.tell(connection, {.how = how});
  // A peer that lives could still write to its ring and cells: they stay unused.
  if (how != End::connection_lost)
    take_back(connection);
  else if (could_write && !outbox_.break_off(connection))
    tell_later(connection);
  ++gone_;
}

// Its ring is full now.
void Engine::tell_later(Connection& connection) {
  connection.must_break_off = true;
  enlist(connection);
}

void Engine::tell_end(Connection& connection, End how) {
  Event event{.kind = Event::Kind::peer_failed, .completion = {.code = ErrorCode::peer_failed}};
  switch (how) {
    case End::died: ++deaths_; break;
    case End::left: event = {.kind = Event::Kind::peer_left, .completion = {.code = ErrorCode::peer_left}}; break;
    case End::none:
    case End::removed: break;
    case End::connection_lost:
      ++cut_off_;
      event = {.kind = Event::Kind::connection_lost, .completion = {.code = ErrorCode::connection_lost}};
      break;
  }
  if (how != End::left) ++failures_;
  connection.fate = event.completion.code;
  gravest_fate_ = graver(gravest_fate_, connection.fate);
  event.completion.peer = Rank{connection.rank};
  state_.events.push_now(event);
  state_.say(LogLevel::info, [this, &connection] { return failed_error(connection.rank).fact; });
}

void Engine::take_back(Connection& connection) {
  connection.dead = true;
  Port& port = *connection.port;
  for (std::size_t cell = 0; cell < kClaimCells; ++cell)
    if (port.cell_taken[cell] && port.cell_peer[cell] == connection.rank) port.cell_taken[cell] = false;
  ir::Translator& translator = connection.queue().translator();
  state_.rings.give_back(translator, connection.ring);
  if (!connection.consumed_word.memory.empty()) translator.deallocate(connection.consumed_word);
  connection.consumed_word = {};
  state_.rings.give_back_staging(translator, connection.staging);
  connection.ring = {};
  translator.detach(ir::Peer{connection.rank});
}

void Engine::peer_gone(std::uint32_t rank, End how) {
  if (rank >= state_.book.size() || rank == state_.rank) return;
  if (connections_[rank] == &removed_) {
    if (Connection* parting = connection_of_command(rank); !parting->nobody()) let_go(*parting, how);
    return;
  }
  Connection* connection = connections_[rank] != nullptr ? connections_[rank] : &make_connection(rank);
  if (!connection->failed() && !deliver_the_last(*connection)) {
    connection->ending = how; // what it has left comes first
    return;
  }
  if (!connection->failed()) {
    fail(*connection, how);
  } else if (!connection->dead) { // the connection was lost before, or by what came last
    --cut_off_;
    tell_end(*connection, how);
    take_back(*connection);
    handlers_.tell(*connection, {.how = how, .before = End::connection_lost});
  } else if (how == End::died && connection->fate == ErrorCode::peer_left && !open_) {
    tell_end(*connection, how); // it had left, but came to a bad end: nothing of the engine's is left to end with it
    handlers_.tell(*connection, {.how = how, .before = End::left});
  }
}

bool Engine::deliver_the_last(Connection& connection) {
  connection.held_back = false;
  state_.unsolicited.drain(true);
  read_whole_ring(&connection);
  if (!connection.failed() && connection.ring.grant.type == RingType::shared) {
    SharedRing& shared = connection.port->shared;
    while (read_shared_ring(*connection.port) > 0) {
    }
    // Its records may stand behind another's that there is no memory for.
    const Claim next = shared.reader.peek();
    if (next.owner != 0 && shared.reader.current(next) && next.ready)
      hold_back(connection);
    else if (!connection.failed())
      read_ahead(connection);
  }
  state_.unsolicited.drain(false);
  return connection.failed() || !connection.held_back;
}

// --- sending ---

Result<Request> Engine::send_slowly(OperationKind kind, SendArguments arguments, const ConstLayout& data) {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  if (rank >= state_.book.size()) return std::unexpected(unknown_rank("rank", rank, ""));
  if (!data.usable()) return std::unexpected(unusable_layout());
  if (arguments.mode > SendMode::synchronous)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "send mode " + std::to_string(static_cast<unsigned>(arguments.mode)) + " does not exist",
              .remedy = "use SendMode::standard or SendMode::synchronous"});
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Connection& connection = *connection_to(rank);
  if (connection.failed()) return std::unexpected(failed_error(rank));
  if (!connection.connected()) open(connection);
  if (kind == OperationKind::send && connection.connected() && sends_whole(connection, arguments, data)) {
    Operation& operation = state_.operations.take();
    if (outbox_.write(connection, {.kind = RecordKind::eager,
                                   .channel = arguments.channel,
                                   .tag = static_cast<std::uint64_t>(arguments.tag),
                                   .payload = data.data(),
                                   .payload_bytes = data.bytes()}))
      return state_.completed_send(operation, arguments.to, arguments.tag, data.bytes(), arguments.notify);
    state_.operations.give_back(operation);
  }
  Operation& operation = begin_send(kind, connection, arguments, data);
  const Request request = operation.request();
  submit(operation, data);
  return request;
}

Error Engine::failed_error(std::uint32_t rank) const {
  const Connection& connection = *connections_[rank];
  const std::string name = "rank " + std::to_string(rank);
  if (&connection == &removed_)
    return {.code = ErrorCode::bad_argument, .fact = name + " was removed", .remedy = "add the peer again"};
  Error error{.code = connection.fate, .fact = name + " has died", .peer = rank};
  if (connection.fate == ErrorCode::peer_left) {
    error.fact = name + (open_ ? " has left" : " has left the job");
    error.remedy = open_ ? "remove it, and add it again if it comes back"
                         : "let it leave only when all that it takes part in has ended, such as after a barrier";
  } else if (const auto found = unreachable_.find(rank);
             connection.fate == ErrorCode::connection_lost && found != unreachable_.end()) {
    error.fact = name + " cannot be reached: " + found->second.fact;
    error.remedy = found->second.remedy;
    error.system_code = found->second.system_code;
  } else if (connection.fate == ErrorCode::connection_lost) {
    error.fact =
        "the connection to " + name + " is lost: " + (connection.why == nullptr ? "it broke off" : connection.why);
    error.remedy = "let both go on without each other, or end the job";
  } else {
    error.remedy = "stop communicating with the ranks of peer_failed events";
  }
  return error;
}

Error Engine::unknown_rank(const char* what, std::uint32_t rank, const char* otherwise) const {
  Error error{.code = ErrorCode::bad_argument, .fact = what + (" " + std::to_string(rank))};
  if (open_) {
    error.fact += " names no peer";
    error.remedy = std::string("use what add_peer gave, or the source of a message") + otherwise;
  } else {
    error.fact += " is outside the job of " + std::to_string(size()) + " processes";
    error.remedy = "use a rank from 0 to " + std::to_string(size() - 1) + otherwise;
  }
  return error;
}

Error Engine::complaint(const Match& match) const {
  if (match.source != kAnySource && static_cast<std::uint32_t>(match.source) >= state_.book.size())
    return unknown_rank("source rank", static_cast<std::uint32_t>(match.source), ", or kAnySource");
  return {.code = ErrorCode::bad_argument,
          .fact = "tag " + std::to_string(static_cast<std::uint64_t>(match.tag)) + " has bits set outside the mask " +
                  std::to_string(match.mask) + ": it can match nothing",
          .remedy = "clear the bits of the tag that the mask leaves out"};
}

Error Engine::unusable_layout() {
  return {.code = ErrorCode::bad_argument,
          .fact = "the layout has bytes behind a null pointer, or more than 2^62 of them",
          .remedy = "give valid memory, or no bytes"};
}

// --- receiving ---

Result<std::optional<Envelope>> Engine::probe(const Match& match) {
  if (wrong(match)) return std::unexpected(complaint(match));
  const UnexpectedMessage* message = state_.matching_of(Channel::program).find(match);
  if (message == nullptr && source_failed(match))
    return std::unexpected(failed_error(static_cast<std::uint32_t>(match.source)));
  if (message == nullptr) return std::nullopt;
  return Envelope{.source = Rank{message->source}, .tag = Tag{message->tag}, .bytes = message->bytes};
}

Result<std::optional<Message>> Engine::matched_probe(const Match& match) {
  auto envelope = probe(match);
  if (!envelope) return std::unexpected(envelope.error());
  if (!*envelope) return std::nullopt;
  Matching& matching = state_.matching_of(Channel::program);
  UnexpectedMessage* message = matching.find(match);
  matching.take(*message);
  message->reserved = true;
  return Message{.envelope = **envelope, .handle = EngineState::handle_of(*message)};
}

Result<Request> Engine::receive_matched(const Message& message, const Layout& into, Notify notify) {
  UnexpectedMessage* arrived = state_.find_reserved(message.handle);
  if (arrived == nullptr)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the message was received before, or never reserved",
                                 .remedy = "receive each message of matched_probe exactly once"});
  if (!into.usable()) return std::unexpected(unusable_layout()); // the message stays reserved
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Operation& operation = state_.begin(OperationKind::receive, Stage::posted, notify);
  operation.channel = Channel::program;
  operation.target = into;
  const Request request = operation.request();
  Connection& connection = *connections_[arrived->source];
  receiver_.take(operation, *arrived, connection);
  pump_later(connection);
  return request;
}

bool Engine::cancel(Request request) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr || operation->kind != OperationKind::receive || operation->stage != Stage::posted)
    return false;
  state_.matching_of(operation->channel).remove(*operation);
  operation->completion = {};
  state_.complete(*operation, ErrorCode::cancelled);
  return true;
}

Request Engine::begin_collective(Notify notify, OperationKind kind) {
  Operation& operation = state_.begin(kind, Stage::running, notify);
  operation.started = state_.progress_count;
  return operation.request();
}

void Engine::finish_collective(Request request, ErrorCode code, std::uint64_t bytes) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr) return;
  operation->completion.bytes = operation->completion.message_bytes = bytes;
  state_.complete(*operation, code);
}

// --- progress ---

std::size_t Engine::handle_all(bool everything) {
  std::size_t done = 0;
  for (auto& port : ports_) {
    if (rests(*port)) continue;
    if (everything || port->announces || port->queue->outstanding() > 0) done += poll_events(*port);
    done += connector_.progress(*port);
    // What the processor has carried out is answered by now: a lock is not held until the next call, which may be late.
    if (port->queue->outstanding() > 0 && port->queue->capabilities().processor_copies) done += poll_events(*port);
    if (port->shared.reader.exists()) done += read_shared_ring(*port);
  }
  done += grant_by_read_.progress() + fetcher_.progress();
  for (const ProtocolRow& row : handlers_.protocols())
    if (*row.busy) done += row.protocol->progress();
  done += fetch_waiting();
  if (!to_pump_.empty()) done += pump_all();
  return done;
}

std::size_t Engine::pump_all() {
  std::size_t done = 0;
  for (std::size_t i = 0; i < to_pump_.size();) {
    Connection& connection = *to_pump_[i];
    if (connection.ending != End::none) {
      peer_gone(connection.rank, std::exchange(connection.ending, End::none));
    } else if (connection.held_back) {
      connection.held_back = false;
      if (connection.ring.grant.type == RingType::shared)
        done += read_shared_ring(*connection.port);
      else
        done += read_whole_ring(&connection);
    }
    if (!connection.connected() && !connection.failed() && has_words(connection))
      open(connection); // it has control records, and was only read from until now
    const bool idle = connection.connected() ? sender_.pump(connection, done) : !has_words(connection);
    if (connection.must_break_off) connection.must_break_off = !connection.dead && !outbox_.break_off(connection);
    const bool done_with = connection.failed() ? !connection.must_break_off : idle && !connection.held_back;
    if (done_with) {
      connection.pumped = false;
      to_pump_[i] = to_pump_.back();
      to_pump_.pop_back();
    } else {
      ++i;
    }
  }
  return done;
}

} // namespace heddle::engine
