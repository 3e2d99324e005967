#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace heddle::engine {

namespace {

// Records taken from one ring before the others get their turn.
constexpr std::size_t kRecordsAtOnce = 64;

// Where a message has followed another, a third is likely to be there: its cache line is asked for. Not after the first,
// since asking for a line that is about to be written would take it from its writer.
constexpr std::size_t kReadAhead = 64;

// A message of more than two lines has all of them asked for before its receive is looked for, so that they travel meanwhile.
// It saves a tenth of the latency at 1 KiB; longer ones are left to the copying, which has enough lines under way.
constexpr std::uint64_t kFewLines = 128;
constexpr std::uint64_t kManyLines = 2048;
void prefetch_content(const std::byte* record, std::uint64_t bytes) {
  constexpr std::uint64_t kLine = 64;
  for (std::uint64_t at = kLine; at < std::min(bytes, kManyLines); at += kLine) __builtin_prefetch(record + at);
}

std::uint64_t load_tag(const std::byte* record) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, record + kLeadBytes, sizeof tag);
  return tag;
}

// Reads a control record's body; false when its size is wrong.
template <typename Body>
bool load_body(Body& body, Lead lead, const std::byte* content) {
  if (lead.bytes != sizeof body) return false;
  std::memcpy(&body, content, sizeof body);
  return true;
}

} // namespace

Engine::Engine(std::uint32_t rank, std::uint32_t size, const Limits& limits, base::FlightRecorder& recorder)
    : core_(rank, size, limits, recorder),
      outbox_(core_),
      fetcher_(core_, outbox_),
      assistant_(core_, outbox_),
      sender_(core_, outbox_),
      receiver_(core_, outbox_, fetcher_),
      connector_(core_, *this),
      allocation_(core_, *this),
      links_(size, nullptr),
      primitives_(core_, outbox_, *this) {}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(std::uint32_t rank, std::uint32_t size, const Limits& limits,
                                               std::span<schedule::Queue* const> queues,
                                               base::FlightRecorder& recorder) {
  std::unique_ptr<Engine> engine(new Engine(rank, size, limits, recorder));
  engine->core_.rings.share_between(queues.size());
  for (schedule::Queue* queue : queues) {
    const bool by_reading = allocates_by_reading(queue->capabilities());
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

void Engine::set_contacts(std::vector<Contact> contacts) {
  contacts_ = std::move(contacts);
  const std::uint8_t own = contacts_[core_.rank].port;
  const auto users = std::count_if(contacts_.begin(), contacts_.end(), [&](const Contact& c) { return c.port == own; });
  lonely_ = users == 1 && links_[core_.rank] == nullptr ? ports_[own].get() : nullptr;
}

// --- links ---

Link* Engine::link_for(std::uint32_t rank) {
  if (rank >= core_.size) return nullptr;
  if (links_[rank] != nullptr) return links_[rank];
  auto link = std::make_unique<Link>();
  link->rank = rank;
  link->port = ports_[contacts_[rank].port].get();
  auto area = link->queue().translator().attach(ir::Peer{rank}, contacts_[rank].address);
  if (area) {
    link->attached = true;
    link->peer_area = *area;
  }
  links_[rank] = owned_links_.emplace_back(std::move(link)).get();
  Link& made = *links_[rank];
  if (!area) {
    core_.recorder.record("attach failed", rank, static_cast<std::uint64_t>(area.error().system_code));
    unreachable_.emplace(rank, std::move(area.error()));
    made.state = connection::State::failed;
    fail(made, End::died);
  } else if (rank == core_.rank) {
    lonely_ = nullptr;
    if (connector_.connect_to_self(made))
      established(made);
    else
      lost(made, "no memory for its ring");
  }
  return &made;
}

void Engine::established(Link& link) {
  core_.recorder.record("connected", link.rank, link.ring.grant.bytes, link.writes_shared ? 1 : 0);
  if (link.reader.exists() && !link.port->announces) readable_.push_back(&link);
  if (link.reader.exists() && link.reader.report_due()) outbox_.report_consumed(link); // could not be told before
  if (!link.writes_shared)
    link.window = link.queue().translator().window(ir::Peer{link.rank}, link.grant.place, link.grant.bytes);
  pump_later(link);
}

void Engine::lost(Link& link, const char* why) {
  core_.recorder.record(why, link.rank);
  fail(link, End::broke_protocol);
}

void Engine::fail(Link& link, End how) {
  link.state = connection::State::failed;
  link.window = {};
  connector_.forget(link);
  std::erase(readable_, &link);
  sender_.peer_lost(link);
  receiver_.peer_lost(link);
  primitives_.peer_lost(link);
  // A peer that lives but broke the protocol could still write to its ring and cells: they stay unused.
  if (how == End::broke_protocol)
    outbox_.leave(link);
  else
    take_back(link);
  if (how == End::left) return;
  ++failures_;
  core_.events.push({.kind = Event::Kind::peer_failed,
                     .cookie = 0,
                     .completion = {.code = ErrorCode::peer_failed, .peer = Rank{link.rank}},
                     .arrival = {}});
}

void Engine::take_back(Link& link) {
  link.dead = true;
  Port& port = *link.port;
  for (std::size_t cell = 0; cell < kClaimCells; ++cell)
    if (port.cell_taken[cell] && port.cell_peer[cell] == link.rank) port.cell_taken[cell] = false;
  ir::Translator& translator = link.queue().translator();
  core_.rings.give_back(translator, link.ring);
  if (!link.consumed_word.memory.empty()) translator.deallocate(link.consumed_word);
  link.consumed_word = {};
  core_.rings.give_back_staging(translator, link.staging);
  link.ring = {};
  translator.detach(ir::Peer{link.rank});
}

void Engine::peer_gone(std::uint32_t rank, End how) {
  if (rank >= core_.size || rank == core_.rank) return;
  Link* link = links_[rank];
  if (link == nullptr) {
    links_[rank] = link = owned_links_.emplace_back(std::make_unique<Link>()).get();
    link->rank = rank;
    link->port = ports_[contacts_[rank].port].get();
  }
  if (link->failed()) {
    if (!link->dead) take_back(*link);
    return;
  }
  // What had arrived before the end is delivered.
  while (!link->failed() && link->reader.exists() && read_ring(*link) > 0) {
  }
  while (!link->failed() && link->ring.grant.type == RingType::shared && read_shared_ring(*link->port) > 0) {
  }
  if (!link->failed()) fail(*link, how);
}

// --- sending ---

Result<Request> Engine::send_slowly(OperationKind kind, SendArguments arguments, const ConstLayout& data) {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  if (rank >= core_.size)
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = "rank " + std::to_string(rank) + " is outside the job of " + std::to_string(core_.size) + " processes",
        .remedy = "use a rank from 0 to " + std::to_string(core_.size - 1),
        .peer = kNoPeer});
  if (!data.usable()) return std::unexpected(unusable_layout());
  Link& link = *link_for(rank);
  if (link.failed()) return std::unexpected(failed_error(rank));
  if (!link.connected()) open(link);
  if (kind == OperationKind::send && link.connected() && sends_whole(link, arguments, data) &&
      outbox_.write(link, {.kind = RecordKind::eager,
                           .channel = arguments.channel,
                           .tag = static_cast<std::uint64_t>(arguments.tag),
                           .payload = data.data(),
                           .payload_bytes = data.bytes()}))
    return core_.completed_send(arguments.to, arguments.tag, data.bytes(), arguments.notify);
  Operation& operation = begin_send(kind, link, arguments, data);
  const Request request = operation.request();
  submit(operation, data);
  return request;
}

Error Engine::failed_error(std::uint32_t rank) const {
  if (const auto found = unreachable_.find(rank); found != unreachable_.end())
    return {.code = ErrorCode::peer_failed,
            .fact = "rank " + std::to_string(rank) + " cannot be reached: " + found->second.fact,
            .remedy = found->second.remedy,
            .peer = rank,
            .system_code = found->second.system_code};
  return {.code = ErrorCode::peer_failed,
          .fact = "rank " + std::to_string(rank) + " has failed or left the job",
          .remedy = "take ranks of peer_failed events out of further communication",
          .peer = rank};
}

Error Engine::complaint(const Match& match) const {
  if (match.source != kAnySource && static_cast<std::uint32_t>(match.source) >= core_.size)
    return {.code = ErrorCode::bad_argument,
            .fact = "source rank " + std::to_string(static_cast<std::uint32_t>(match.source)) +
                    " is outside the job of " + std::to_string(core_.size) + " processes",
            .remedy = "use a rank from 0 to " + std::to_string(core_.size - 1) + ", or kAnySource"};
  return {.code = ErrorCode::bad_argument,
          .fact = "tag " + std::to_string(static_cast<std::uint64_t>(match.tag)) + " has bits set outside the mask " +
                  std::to_string(match.mask) + ": it can match nothing",
          .remedy = "clear the bits of the tag that the mask leaves out"};
}

Error Engine::unusable_layout() {
  return {.code = ErrorCode::bad_argument,
          .fact = "the layout has bytes behind a null pointer, or more than 2^62 of them",
          .remedy = "give memory that exists, or no bytes"};
}

// --- receiving ---

Result<std::optional<Envelope>> Engine::probe(const Match& match) {
  if (wrong(match)) return std::unexpected(complaint(match));
  const Arrived* message = core_.matching_of(Channel::program).find(match);
  if (message == nullptr && source_failed(match))
    return std::unexpected(failed_error(static_cast<std::uint32_t>(match.source)));
  if (message == nullptr) return std::nullopt;
  return Envelope{.source = Rank{message->source}, .tag = Tag{message->tag}, .bytes = message->bytes};
}

Result<std::optional<Message>> Engine::matched_probe(const Match& match) {
  auto envelope = probe(match);
  if (!envelope) return std::unexpected(envelope.error());
  if (!*envelope) return std::nullopt;
  Matching& matching = core_.matching_of(Channel::program);
  Arrived* message = matching.find(match);
  matching.take(*message);
  message->reserved = true;
  return Message{.envelope = **envelope, .handle = Core::handle_of(*message)};
}

Result<Request> Engine::receive_matched(const Message& message, const Layout& into, Notify notify) {
  Arrived* arrived = core_.find_reserved(message.handle);
  if (arrived == nullptr)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the message was received before, or never reserved",
                                 .remedy = "receive each message of matched_probe exactly once"});
  if (!into.usable()) return std::unexpected(unusable_layout()); // the message stays reserved
  Operation& operation = core_.begin(OperationKind::receive, Stage::posted, notify);
  operation.channel = Channel::program;
  operation.target = into;
  const Request request = operation.request();
  Link& link = *links_[arrived->source];
  receiver_.take(operation, *arrived, link);
  pump_later(link);
  return request;
}

bool Engine::cancel(Request request) {
  Operation* operation = core_.operations.find(request.name);
  if (operation == nullptr || operation->kind != OperationKind::receive || operation->stage != Stage::posted)
    return false;
  core_.matching_of(operation->channel).remove(*operation);
  operation->completion = {};
  core_.complete(*operation, ErrorCode::cancelled);
  return true;
}

Request Engine::begin_collective(Notify notify, OperationKind kind) {
  Operation& operation = core_.begin(kind, Stage::running, notify);
  operation.started = core_.progress_count;
  return operation.request();
}

void Engine::finish_collective(Request request, ErrorCode code, std::uint64_t bytes) {
  Operation* operation = core_.operations.find(request.name);
  if (operation == nullptr) return;
  operation->completion.bytes = operation->completion.message_bytes = bytes;
  core_.complete(*operation, code);
}

// --- progress ---

std::size_t Engine::work_off(bool everything) {
  std::size_t done = 0;
  for (auto& port : ports_) {
    if (rests(*port)) continue;
    if (everything || port->announces || port->queue->outstanding() > 0) done += poll_events(*port);
    done += connector_.progress(*port);
    if (port->shared.reader.exists()) done += read_shared_ring(*port);
  }
  done += allocation_.progress() + fetcher_.progress() + primitives_.progress();
  if (!to_pump_.empty()) pump_all();
  return done;
}

std::size_t Engine::read_ring(Link& link) {
  std::size_t done = 0;
  while (done < kRecordsAtOnce) {
    const std::uint64_t word = link.reader.peek();
    if (word == 0) break;
    const Lead lead = Lead::unpack(word);
    const std::uint64_t span = record_span(lead.bytes);
    if (Lead::is_message(word) && span + kLeadBytes <= link.reader.to_end()) [[likely]] {
      const std::byte* record = link.reader.record();
      if (lead.bytes > kFewLines) [[unlikely]]
        prefetch_content(record, lead.bytes);
      else if (done > 0)
        __builtin_prefetch(record + kReadAhead);
      if (!receiver_.whole(link, lead, load_tag(record), record + kRecordHeadBytes)) [[unlikely]] {
        lost(link, "no memory for its messages");
        return done + 1;
      }
      link.reader.advance(span);
      // After a single message the next is not looked for across a cache line: it is not there yet, and the look would
      // keep the caller waiting for the line.
      if (++done == 1 && link.reader.at_line()) break;
      continue;
    }
    if (!Lead::plausible(word) || (lead.kind != RecordKind::wrap && span + kLeadBytes > link.reader.to_end())) {
      lost(link, "it wrote rubbish into its ring");
      return done + 1;
    }
    if (lead.kind == RecordKind::wrap) {
      link.reader.wrap();
      continue;
    }
    if (!dispatch(link, lead, link.reader.record())) {
      lost(link, "it sent a record that makes no sense");
      return done + 1;
    }
    if (link.failed()) [[unlikely]]
      return done + 1;
    link.reader.advance(span);
    ++done;
  }
  if (done > 0) {
    if (link.connected() && link.reader.report_due()) outbox_.report_consumed(link);
    pump_later(link);
  }
  return done;
}

std::size_t Engine::read_shared_ring(Port& port) {
  std::size_t done = 0;
  SharedRingReader& reader = port.shared.reader;
  while (done < kRecordsAtOnce) {
    const Claim claim = reader.peek();
    if (claim.owner == 0) break;
    Link* link = claim.owner <= core_.size ? links_[claim.owner - 1] : nullptr;
    if (!reader.current(claim)) {
      if (link == nullptr || link->failed()) reader.restore();
      break;
    }
    if (link == nullptr || link->failed()) {
      reader.advance(); // nobody's, or a dead peer's: skipped
      ++done;
      continue;
    }
    if (!claim.ready) break;
    std::uint64_t word = 0;
    std::memcpy(&word, reader.record(), sizeof word);
    const Lead lead = Lead::unpack(word);
    const bool sound = Lead::plausible(word) && lead.kind != RecordKind::wrap &&
                       kRecordHeadBytes + lead.bytes <= reader.record_bytes() && dispatch(*link, lead, reader.record());
    if (!sound) lost(*link, "it sent a record that makes no sense");
    reader.advance();
    pump_later(*link);
    ++done;
  }
  return done;
}

bool Engine::dispatch(Link& link, Lead lead, const std::byte* record) {
  const std::byte* content = record + kRecordHeadBytes;
  const std::uint64_t tag = load_tag(record);
  switch (lead.kind) {
    case RecordKind::eager: return receiver_.whole(link, lead, tag, content);
    case RecordKind::eager_synchronous: return receiver_.synchronous(link, lead, tag, content);
    case RecordKind::unsolicited: return receiver_.unsolicited(link, lead, tag, content);
    case RecordKind::announce: return receiver_.announced(link, lead, tag, content);
    case RecordKind::announce_unsolicited: return receiver_.announced_unsolicited(link, lead, tag, content);
    case RecordKind::fragment: return receiver_.fragment(link, lead, tag, content);
    case RecordKind::finished:
    case RecordKind::clear_to_send:
    case RecordKind::assist:
    case RecordKind::assist_done: return dispatch_control(link, lead, content);
    case RecordKind::area_ask:
    case RecordKind::area_grant:
    case RecordKind::area_revoked:
    case RecordKind::area_notice:
    case RecordKind::area_scatter:
    case RecordKind::area_scattered:
    case RecordKind::area_relay:
    case RecordKind::area_relayed:
    case RecordKind::lock_passed: return primitives_.record(link, lead, content);
    case RecordKind::none:
    case RecordKind::wrap: return false;
  }
  return false;
}

bool Engine::dispatch_control(Link& link, Lead lead, const std::byte* content) {
  if (lead.kind == RecordKind::finished) {
    Finished body;
    if (!load_body(body, lead, content)) return false;
    sender_.finished(link, body);
    return true;
  }
  if (lead.kind == RecordKind::clear_to_send) {
    ClearToSend body;
    return load_body(body, lead, content) && sender_.clear_to_send(link, body);
  }
  if (lead.kind == RecordKind::assist) {
    AssistRequest body;
    if (!load_body(body, lead, content)) return false;
    assistant_.begin(link, body);
    return true;
  }
  AssistDone body;
  return load_body(body, lead, content) && fetcher_.assist_done(link, body);
}

std::size_t Engine::poll_events(Port& port) {
  port.queue->flush();
  std::array<ir::Event, 16> events;
  const std::size_t count = port.queue->poll(events);
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) done += dispatch_event(events[i]) ? 1 : 0;
  return done;
}

bool Engine::dispatch_event(const ir::Event& event) {
  if (event.kind == ir::EventKind::peer_failed) {
    peer_failed(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::completed) return dispatch_completed(event);
  dispatch_notice(event);
  return true;
}

void Engine::dispatch_notice(const ir::Event& event) {
  Link* link = link_for(static_cast<std::uint32_t>(event.peer));
  if (link == nullptr || link->failed()) return;
  if (event.kind == ir::EventKind::remote_read)
    allocation_.asked(*link, event.value);
  else if (event.value != kRecordNotice)
    allocation_.answered(*link, event.value);
  else if (link->reader.exists())
    read_ring(*link);
  else if (link->port->shared.reader.exists())
    read_shared_ring(*link->port);
  pump_later(*link);
}

bool Engine::dispatch_completed(const ir::Event& event) {
  if (ir::is_group(event.peer)) {
    primitives_.group_put_ended(event);
    return true;
  }
  bool in_vain = false;
  Link* link = links_[static_cast<std::uint32_t>(event.peer)];
  switch (cookie_kind(event.cookie)) {
    case CookieKind::lock:
      connector_.lock_answered(*link, event);
      in_vain = event.status == ir::Status::ok && event.value != 0;
      break;
    case CookieKind::directory: allocation_.directory_read(*link, event); break;
    case CookieKind::claim:
      if (outbox_.claim_answered(*link, event))
        sender_.pump(*link);
      else
        in_vain = event.status == ir::Status::ok && link->claim == ClaimState::none && !link->failed();
      if (event.status == ir::Status::refused && !link->failed()) lost(*link, "the ring it granted cannot be reached");
      break;
    case CookieKind::read: fetcher_.read_ended(event); break;
    case CookieKind::assist_claim: assistant_.claim_ended(event); break;
    case CookieKind::assist_copy: assistant_.copy_ended(event); break;
    case CookieKind::transfer: primitives_.transfer_ended(event); break;
    case CookieKind::lock_step: primitives_.lock_step_ended(event); break;
    case CookieKind::prepared:
      if (prepared_host_ != nullptr) prepared_host_->command_ended(cookie_number(event.cookie), event.status);
      break;
  }
  if (event.status == ir::Status::peer_lost && !link->failed()) peer_failed(link->rank);
  pump_later(*link);
  return !in_vain;
}

void Engine::pump_all() {
  for (std::size_t i = 0; i < to_pump_.size();) {
    Link& link = *to_pump_[i];
    if (!link.connected() && !link.failed()) open(link); // it has control records, and was only read from until now
    if (link.failed() || sender_.pump(link)) {
      link.pumped = false;
      to_pump_[i] = to_pump_.back();
      to_pump_.pop_back();
    } else {
      ++i;
    }
  }
}

} // namespace heddle::engine
