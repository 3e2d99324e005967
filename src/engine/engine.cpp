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
    : core_(rank, size, limits, recorder),
      outbox_(core_),
      fetcher_(core_, outbox_),
      assistant_(core_, outbox_),
      sender_(core_, outbox_),
      receiver_(core_, outbox_, fetcher_),
      connector_(core_, *this),
      grant_by_read_(core_, *this),
      links_(size, nullptr),
      one_sided_(core_, outbox_, *this) {}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(std::uint32_t rank, std::uint32_t size, const Limits& limits,
                                               std::span<schedule::Queue* const> queues,
                                               base::FlightRecorder& recorder) {
  if (!base::Reserve::keep()) return std::unexpected(no_memory());
  std::unique_ptr<Engine> engine(new Engine(rank, size, limits, recorder));
  engine->core_.rings.share_between(queues.size());
  for (schedule::Queue* queue : queues) {
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
  Link& made = make_link(rank);
  auto area = made.queue().translator().attach(ir::Peer{rank}, contacts_[rank].address);
  if (area) {
    made.attached = true;
    made.peer_area = *area;
  } else {
    core_.recorder.record("attach failed", rank, static_cast<std::uint64_t>(area.error().system_code));
    unreachable_.emplace(rank, std::move(area.error()));
    made.absent = news_expected_ && unreachable_.at(rank).code == ErrorCode::unreachable;
    if (made.absent)
      absent_.push_back(&made);
    else
      fail(made, End::connection_lost);
  }
  if (area && rank == core_.rank) connect_to_self(made);
  return &made;
}

// Where there is no memory for it, the next call may find some: there is no link then.
void Engine::connect_to_self(Link& link) {
  bool connected = false;
  try {
    connected = connector_.connect_to_self(link);
  } catch (const std::bad_alloc&) {
  }
  if (!connected) {
    take_back(link);
    links_[link.rank] = nullptr;
    owned_links_.pop_back();
    throw std::bad_alloc();
  }
  lonely_ = nullptr;
  established(link);
}

Link& Engine::make_link(std::uint32_t rank) {
  Link& link = owned_links_.emplace_back();
  link.rank = rank;
  link.port = ports_[contacts_[rank].port].get();
  links_[rank] = &link;
  return link;
}

void Engine::give_up_news() {
  for (Link* link : std::exchange(absent_, {}))
    if (!link->failed()) fail(*link, End::connection_lost);
}

void Engine::established(Link& link) {
  core_.recorder.record("connected", link.rank, link.ring.grant.bytes, link.writes_shared ? 1 : 0);
  if (link.reader.exists() && !link.port->announces) readable_.push_back(&link);
  if (link.reader.exists() && link.reader.report_due()) outbox_.report_consumed(link); // could not be told before
  ir::DirectMemory* memory = link.queue().facets().direct_memory;
  if (!link.writes_shared && memory != nullptr)
    link.direct = memory->direct_ring(ir::Peer{link.rank}, link.grant.place, link.grant.bytes);
  pump_later(link);
  core_.say(LogLevel::debug, [&link] {
    return "connected to rank " + std::to_string(link.rank) + " by " + std::string(link.queue().translator().name()) +
           ": it gives a " + (link.writes_shared ? "shared ring of " : "ring of ") +
           base::print_size(link.grant.bytes) + ", and gets " +
           (link.ring.grant.type == RingType::shared ? "a shared one of " : "one of ") +
           base::print_size(link.ring.grant.bytes);
  });
}

void Engine::lost(Link& link, const char* why) {
  core_.recorder.record(why, link.rank);
  link.why = why;
  fail(link, End::connection_lost);
}

void Engine::fail(Link& link, End how) {
  const bool could_write = link.connected();
  tell_end(link, how);
  link.state = connection::State::failed;
  link.direct = {};
  link.held_back = false;
  if (link.absent) std::erase(absent_, &link);
  connector_.forget(link);
  std::erase(readable_, &link);
  sender_.peer_lost(link);
  receiver_.peer_lost(link);
  one_sided_.peer_lost(link);
  // A peer that lives could still write to its ring and cells: they stay unused.
  if (how != End::connection_lost)
    take_back(link);
  else if (could_write && !outbox_.break_off(link))
    tell_later(link);
  ++gone_;
}

// Its ring is full now.
void Engine::tell_later(Link& link) {
  link.must_break_off = true;
  enlist(link);
}

void Engine::tell_end(Link& link, End how) {
  Event event{.kind = Event::Kind::peer_failed, .completion = {.code = ErrorCode::peer_failed}};
  switch (how) {
    case End::died: ++deaths_; break;
    case End::left: event = {.kind = Event::Kind::peer_left, .completion = {.code = ErrorCode::peer_left}}; break;
    case End::none: break;
    case End::connection_lost:
      ++cut_off_;
      event = {.kind = Event::Kind::connection_lost, .completion = {.code = ErrorCode::connection_lost}};
      break;
  }
  if (how != End::left) ++failures_;
  link.fate = event.completion.code;
  gravest_fate_ = graver(gravest_fate_, link.fate);
  event.completion.peer = Rank{link.rank};
  core_.events.push_now(event);
  core_.say(LogLevel::info, [this, &link] { return failed_error(link.rank).fact; });
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
  Link* link = links_[rank] != nullptr ? links_[rank] : &make_link(rank);
  if (!link->failed() && !deliver_the_last(*link)) {
    link->ending = how; // what it has left comes first
    return;
  }
  if (!link->failed()) {
    fail(*link, how);
  } else if (!link->dead) { // the connection was lost before, or by what came last
    --cut_off_;
    tell_end(*link, how);
    take_back(*link);
    one_sided_.peer_died();
  } else if (how == End::died && link->fate == ErrorCode::peer_left) {
    tell_end(*link, how); // it had left, but came to a bad end: nothing is left to end with it
  }
}

bool Engine::deliver_the_last(Link& link) {
  link.held_back = false;
  core_.unsolicited.drain(true);
  read_whole_ring(&link);
  if (!link.failed() && link.ring.grant.type == RingType::shared) {
    SharedRing& shared = link.port->shared;
    while (read_shared_ring(*link.port) > 0) {
    }
    // Its records may stand behind another's that there is no memory for.
    const Claim next = shared.reader.peek();
    if (next.owner != 0 && shared.reader.current(next) && next.ready)
      hold_back(link);
    else if (!link.failed())
      read_ahead(link);
  }
  core_.unsolicited.drain(false);
  return link.failed() || !link.held_back;
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
  if (arguments.mode > SendMode::synchronous)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "send mode " + std::to_string(static_cast<unsigned>(arguments.mode)) + " is none",
              .remedy = "use SendMode::standard or SendMode::synchronous"});
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Link& link = *link_for(rank);
  if (link.failed()) return std::unexpected(failed_error(rank));
  if (!link.connected()) open(link);
  if (kind == OperationKind::send && link.connected() && sends_whole(link, arguments, data)) {
    Operation& operation = core_.operations.take();
    if (outbox_.write(link, {.kind = RecordKind::eager,
                             .channel = arguments.channel,
                             .tag = static_cast<std::uint64_t>(arguments.tag),
                             .payload = data.data(),
                             .payload_bytes = data.bytes()}))
      return core_.completed_send(operation, arguments.to, arguments.tag, data.bytes(), arguments.notify);
    core_.operations.give_back(operation);
  }
  Operation& operation = begin_send(kind, link, arguments, data);
  const Request request = operation.request();
  submit(operation, data);
  return request;
}

Error Engine::failed_error(std::uint32_t rank) const {
  const Link& link = *links_[rank];
  const std::string name = "rank " + std::to_string(rank);
  Error error{.code = link.fate, .fact = name + " has died", .peer = rank};
  if (link.fate == ErrorCode::peer_left) {
    error.fact = name + " has left the job";
    error.remedy = "let it stay until all that it takes part in has ended: a barrier before it leaves, for instance";
  } else if (const auto found = unreachable_.find(rank);
             link.fate == ErrorCode::connection_lost && found != unreachable_.end()) {
    error.fact = name + " cannot be reached: " + found->second.fact;
    error.remedy = found->second.remedy;
    error.system_code = found->second.system_code;
  } else if (link.fate == ErrorCode::connection_lost) {
    error.fact = "the connection to " + name + " is lost: " + (link.why == nullptr ? "it broke off" : link.why);
    error.remedy = "let both go on without each other, or end the job";
  } else {
    error.remedy = "take ranks of peer_failed events out of further communication";
  }
  return error;
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
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
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
  done += grant_by_read_.progress() + fetcher_.progress() + one_sided_.progress() + fetch_waiting();
  if (!to_pump_.empty()) done += pump_all();
  return done;
}

std::size_t Engine::pump_all() {
  std::size_t done = 0;
  for (std::size_t i = 0; i < to_pump_.size();) {
    Link& link = *to_pump_[i];
    if (link.ending != End::none) {
      peer_gone(link.rank, std::exchange(link.ending, End::none));
    } else if (link.held_back) {
      link.held_back = false;
      if (link.ring.grant.type == RingType::shared)
        done += read_shared_ring(*link.port);
      else
        done += read_whole_ring(&link);
    }
    if (!link.connected() && !link.failed() && has_words(link))
      open(link); // it has control records, and was only read from until now
    const bool idle = link.connected() ? sender_.pump(link, done) : !has_words(link);
    if (link.must_break_off) link.must_break_off = !link.dead && !outbox_.break_off(link);
    const bool done_with = link.failed() ? !link.must_break_off : idle && !link.held_back;
    if (done_with) {
      link.pumped = false;
      to_pump_[i] = to_pump_.back();
      to_pump_.pop_back();
    } else {
      ++i;
    }
  }
  return done;
}

} // namespace heddle::engine
