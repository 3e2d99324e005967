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
  for (const Contact& contact : contacts_)
    if (&contact != &contacts_[state_.rank]) may_be_heard_of(contact);
  const std::uint8_t own = contacts_[state_.rank].port;
  const auto users = std::count_if(contacts_.begin(), contacts_.end(), [&](const Contact& c) { return c.port == own; });
  lonely_ = users == 1 && connections_[state_.rank] == nullptr ? ports_[own].get() : nullptr;
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

} // namespace heddle::engine
