// The protocol engine: consumes what arrives, emits commands, and ends operations. It has no threads, no clock and no
// global state but for the reserve of memory, and does no input or output but for the log that it is given; everything it knows of the
// network it learns through its queues.
#pragma once

#include "base/ages.hpp"
#include "base/reserve.hpp"
#include "engine/connection/connector.hpp"
#include "engine/engine_state.hpp"
#include "engine/handlers.hpp"
#include "engine/messages/assistant.hpp"
#include "engine/messages/fetcher.hpp"
#include "engine/messages/receiver.hpp"
#include "engine/messages/sender.hpp"
#include "engine/rings/grant_by_read.hpp"
#include "engine/rings/record_writer.hpp"
#include "engine/schedule_queue.hpp"
#include "ir/translator.hpp"

#include <heddle/heddle.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heddle::engine {

// How a peer is reached: through which of the engine's ports, and where.
struct Contact {
  ir::Address address{};
  std::uint8_t port = 0;
};
static_assert(sizeof(Contact) + sizeof(void*) <= 64, "a peer not connected to costs at most 64 bytes");

class Engine final : private ConnectionHost, private ProtocolHost {
 public:
  // Takes the bootstrap memory from each translator: it must be the first that is allocated there.
  // `queues` outlive the engine. Contacts follow with set_contacts, once every peer has its bootstrap memory.
  static Result<std::unique_ptr<Engine>> create(std::uint32_t rank, std::uint32_t size, const Limits& limits,
                                                std::span<ScheduleQueue* const> queues, base::FlightRecorder& recorder);
  ~Engine() override;

  // One contact per rank, this process's own included; rank r has the unique id `first` + r.
  void set_contacts(std::vector<Contact> contacts, Uid first = 1);

  // An open world (open_world.cpp): peers come and go. Whoever asks for a connection is given a rank.
  void enter_open_world() {
    open_ = true;
    state_.ranks_agree = false;
  }
  // A rank for that process, or the one that it has. Fails where it cannot be reached.
  Result<std::uint32_t> add_peer(Uid uid, const Contact& contact);
  // What is under way with it ends with `cancelled`; the rank is never given again.
  Result<void> remove_peer(std::uint32_t rank);

  struct SendArguments {
    Rank to{};
    Tag tag{};
    SendMode mode = SendMode::standard;
    Notify notify;
    Channel channel = Channel::program;
    DataWord data{};
  };
  // Every call that starts something says out_of_memory where there is none, and then nothing has happened.
  Result<Request> send(const SendArguments& arguments, const ConstLayout& data);
  // The same; the message has left its memory when this returns, and only a failure is heard of again.
  Result<void> inject(const SendArguments& arguments, ConstMemory data);
  Result<Request> send_unsolicited(const SendArguments& arguments, const ConstLayout& data);

  Result<Request> receive(const Match& match, const Layout& into, Notify notify, Channel channel = Channel::program);
  Result<std::optional<Envelope>> probe(const Match& match);
  Result<std::optional<Message>> matched_probe(const Match& match);
  Result<Request> receive_matched(const Message& message, const Layout& into, Notify notify);
  bool cancel(Request request);
  void release(std::uint64_t unsolicited) {
    state_.release(unsolicited);
    fetch_waiting();
  }

  // A request for something that is no single message (barrier, exchange, pattern); ended by finish_composite.
  Request begin_composite(Notify notify, OperationKind kind);
  void finish_composite(Request request, ErrorCode code, std::uint64_t bytes = 0);
  void finish_composite(Request request, const Completion& completion);

  // For other rooms: who takes what comes in, and what a protocol of theirs needs (protocol.hpp).
  [[nodiscard]] Handlers& handlers() { return handlers_; }
  [[nodiscard]] Services services() {
    return {.state = state_, .record_writer = record_writer_, .host = *this, .handlers = handlers_};
  }
  // For prepared commands: the queue to a peer, and whether the peer can still be reached.
  [[nodiscard]] ScheduleQueue& queue_to(std::uint32_t rank) const { return *ports_[contacts_[rank].port]->queue; }
  // Of the network to that peer, where it has several and they are planned; otherwise 1.
  [[nodiscard]] std::uint32_t planned_engines(std::uint32_t rank) const {
    return std::max(queue_to(rank).sending().engines(), 1U);
  }
  [[nodiscard]] bool has_failed(std::uint32_t rank) const {
    return connections_[rank] != nullptr && connections_[rank]->failed();
  }
  [[nodiscard]] bool has_ended(std::uint32_t rank) const override {
    return has_failed(rank) && connections_[rank]->dead;
  }
  [[nodiscard]] std::uint64_t cut_off() const override { return cut_off_; }
  [[nodiscard]] const Limits& limits() const { return state_.limits; }

  [[nodiscard]] std::uint64_t progress_count() const { return state_.progress_count; }
  // Whether something that began before that count has not ended yet. Looks at all operations.
  [[nodiscard]] bool waits_since(std::uint64_t count);
  // So short that it needs no memory itself.
  [[nodiscard]] static Error no_memory() { return {.code = ErrorCode::out_of_memory, .fact = "out of memory"}; }
  // What every call says that was given a layout it cannot use.
  [[nodiscard]] static Error unusable_layout();

  // Handles what has arrived, and what waits. Returns how many things were done: 0 means that there was nothing to do.
  std::size_t progress();

  // The same, looking at everything: for a process that is called only when something has happened to it.
  std::size_t progress_all();
  // Before a sleep: asks every network, then looks at all that it may have brought. What comes later stays with the network, which
  // ends the sleep; a ring looked at first would be missed where the network brings records when it is asked.
  std::size_t last_look();
  // As progress_all, where it is known which peers have written since the last call (one may be named twice): with a thousand
  // peers it saves a thousand looks. What this process sends to itself is looked for anyway.
  std::size_t progress_told(std::span<const std::uint32_t> writers);

  // Looks at the rings alone, again and again for a short while: sees a message as quickly as it can be seen. For whoever
  // waits, in between calls of progress. Returns how many things were done.
  std::size_t glance();

  // Answers to commands may be there already, or come without anything that ends a sleep: one more call of progress
  // before sleeping.
  [[nodiscard]] bool awaits_answers() const;
  // Something has to be tried again that nobody will tell of: a peer's common slot, or its shared ring, was taken.
  [[nodiscard]] bool must_try_again() const { return connector_.tries_again() || others_try_again(); }
  // The same, where no command is under way whose answer would wake the caller.
  [[nodiscard]] bool must_try_again_without_answer() const {
    return connector_.tries_again_without_answer() || others_try_again();
  }

  // Commands that are held, or records that wait to be written: back-pressure may be the cause, and while a network says when
  // it takes more, a faulty one does not.
  [[nodiscard]] bool holds_commands() const;

  // After a sleep that was instead of calls of progress.
  void try_again_now() { connector_.try_again_now(); }
  // Control records that peers wait for are still to be written, such as that their message has been fetched.
  [[nodiscard]] bool owes_control_records() const;

  // The outcome, when the operation has ended; the request is then gone. code stale_request for an unknown one.
  std::optional<Completion> take_completion(Request request);
  // For whoever waits for one operation: found once, looked at often, taken when it has ended. Null: the request is stale.
  [[nodiscard]] Operation* find(Request request) const { return state_.operations.find(request.name); }
  [[nodiscard]] static bool ended(const Operation& operation, Request request) {
    return operation.stage == Stage::done || operation.name != request.name;
  }
  Completion take(Operation& operation, Request request);
  // The same, but for all except the code.
  std::optional<ErrorCode> take_code(Request request);
  [[nodiscard]] bool ended(Request request) const {
    const Operation* operation = state_.operations.find(request.name);
    return operation == nullptr || operation->stage == Stage::done;
  }
  std::size_t take_events(std::span<Event> events) { return state_.take_events(events); }
  [[nodiscard]] bool has_events() const { return state_.has_events(); }

  // The process is known to be dead: what it has sent is still delivered, everything else with it ends. Also of one that had
  // left before: its exit status showed a failure.
  void peer_failed(std::uint32_t rank) { peer_gone(rank, End::died); }
  // The peer has left in good order: the same.
  void peer_left(std::uint32_t rank) { peer_gone(rank, End::left); }

  // Whoever owns the engine is told of each process that has ended. So one that is not there when it is first talked to is waited
  // for until that comes, or until it is given up: only then can be said whether it has died or left.
  void expect_news() { news_expected_ = true; }
  [[nodiscard]] bool awaits_news() const { return !absent_.empty(); }
  void give_up_news();
  // Where it tells of connections (debug) and of peers that have gone (info). Nowhere by default.
  void set_log(const base::Log& log) { state_.set_log(log); }

  // A message to that peer needs no connection to be made first.
  [[nodiscard]] bool connected(std::uint32_t rank) const {
    return connections_[rank] != nullptr && (connections_[rank]->connected() || connections_[rank]->failed());
  }
  // Peers that have died so far.
  [[nodiscard]] std::uint64_t deaths() const { return deaths_; }
  // News of deaths and lost connections so far; one peer may count twice.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  // How contact with that peer ended: ok while it has not.
  [[nodiscard]] ErrorCode fate(std::uint32_t rank) const {
    return has_failed(rank) ? connections_[rank]->fate : ErrorCode::ok;
  }
  // The gravest of all peers' fates.
  [[nodiscard]] ErrorCode gravest_fate() const { return gravest_fate_; }
  [[nodiscard]] std::uint64_t gone() const override { return gone_; }

  // Unsolicited messages that there was no memory for.
  [[nodiscard]] std::uint64_t refused() const { return state_.unsolicited.refused(); }

  // For the curious and for the watchdog.
  // With ages, where the caller has noted when progress_count stood where.
  [[nodiscard]] std::string waiting_for(const base::Ages* ages = nullptr, std::uint64_t now_ns = 0);
  // How a contiguous message of that size travels; before the connection is made, how it is expected to.
  [[nodiscard]] ExpectedProtocol expected_protocol(std::uint32_t rank, std::uint64_t bytes) const;
  [[nodiscard]] std::vector<Context::Figure> figures() const;
  [[nodiscard]] std::uint32_t rank() const { return state_.rank; }
  [[nodiscard]] std::uint32_t size() const { return state_.book.size(); }
  [[nodiscard]] Uid uid(std::uint32_t rank) const { return state_.book.uid(rank); }
  [[nodiscard]] const Contact& contact(std::uint32_t rank) const { return contacts_[rank]; }

 private:
  Engine(std::uint32_t rank, std::uint32_t size, const Limits& limits, base::FlightRecorder& recorder);

  // Its own rows among the handlers: dispatch.cpp.
  void register_record_rows();
  void register_command_rows();

  // Sending: engine_inline.hpp, send.cpp.
  // Checks everything, and connects first where that is missing.
  Result<Request> send_slowly(OperationKind kind, SendArguments arguments, const ConstLayout& data);
  Result<void> inject_slowly(const SendArguments& arguments, ConstMemory data);
  Operation& begin_send(OperationKind kind, Connection& connection, const SendArguments& arguments,
                        const ConstLayout& data);
  // Stores a whole message in direct memory of the peer's, if there is room right here.
  static bool store_whole(Connection& connection, const SendArguments& arguments, std::span<const std::byte> data);
  // Writes it in whichever way the network has.
  bool write_whole(Connection& connection, const SendArguments& arguments, std::span<const std::byte> data);
  // Whether a send may be one record and complete at once, if there is room.
  static bool sends_whole(const Connection& connection, const SendArguments& arguments, const ConstLayout& data);
  // Sends in any way that suits, now or later.
  void submit(Operation& operation, const ConstLayout& data);
  [[nodiscard]] Error unknown_rank(const char* what, std::uint32_t rank, const char* otherwise) const;

  // Receiving: engine_inline.hpp, receive.cpp.
  [[nodiscard]] bool wrong(const Match& match) const;
  [[nodiscard]] Error complaint(const Match& match) const;
  [[nodiscard]] bool source_failed(const Match& match) const;

  // Connections: connections.cpp. ConnectionHost and ProtocolHost ask for some.
  Connection* connection_to(std::uint32_t rank) override;
  void established(Connection& connection) override;
  void connect(Connection& connection) override {
    if (!connection.connected()) open(connection);
  }
  [[nodiscard]] std::span<const std::unique_ptr<Port>> ports() const override { return ports_; }
  Connection& make_connection(std::uint32_t rank);
  void connect_to_self(Connection& connection);
  // Starts what makes the connection ready to be written to, unless it is under way.
  void open(Connection& connection);
  // Where rings are granted by reading, a peer's first word is an event: it is asked for from now on.
  void may_be_heard_of(std::uint32_t rank) {
    Port& port = *ports_[contacts_[rank].port];
    port.listens = port.listens || grants_by_read(*port.queue);
    if (ir::Senders* known = port.queue->facets().senders) known->expect(ir::Peer{rank}, contacts_[rank].address);
  }

  // Progress: engine_inline.hpp, progress.cpp.
  // A translator with nothing under way is asked for events only now and then: only a failure could come.
  static constexpr std::uint64_t kIdlePollInterval = 64;
  [[nodiscard]] bool others_try_again() const;
  // Whether, beside the rings, everything rests: a look at some words.
  [[nodiscard]] bool nothing_else_to_do() const;
  // Nothing can come through it but answers, and none is awaited.
  [[nodiscard]] bool rests(const Port& port) const { return &port == lonely_ && port.queue->outstanding() == 0; }
  // With everything: also translators that nothing is expected of.
  std::size_t handle_all(bool everything);
  std::size_t pump_all();
  // Among the connections that are pumped, if it has something to write.
  void pump_later(Connection& connection) override;
  // Among them in any case.
  void enlist(Connection& connection);
  // Messages, control records or fragments wait to be written.
  static bool has_output(const Connection& connection);
  // Unsolicited messages that have waited for room.
  std::size_t fetch_waiting();

  // Reading rings: engine_inline.hpp, read_rings.cpp.
  // Some tens of nanoseconds.
  static constexpr int kGlances = 16;
  std::size_t read_rings();
  // Rings looked at in one call of progress: few enough that a call stays short with hundreds of peers.
  static constexpr std::size_t kRingsAtOnce = 16;
  std::size_t read_ring(Connection& connection);
  // Until nothing is left in it. No connection, or one without a ring of its own, has nothing.
  std::size_t read_whole_ring(Connection* connection);
  // There is no memory for the next record of this connection's ring now. It stays there, and the connection among those that are pumped, so
  // that it is tried again once there is.
  void hold_back(Connection& connection);
  std::size_t read_shared_ring(Port& port);
  // The record in the slot where the reader stands.
  Taken take_slot_record(Connection& connection, const SharedRingReader& reader);
  // Whether the owner of a slot, as its claim says, lives and has not heard that it is given up on.
  [[nodiscard]] bool may_write(std::uint32_t owner);
  // What a peer that is gone has written behind a slot that another has claimed and not written yet: that may take long.
  void read_ahead(Connection& connection);

  // Events of the translators: dispatch.cpp.
  std::size_t poll_events(Port& port);
  // False: the command was in vain, and is to be tried again.
  bool dispatch_event(const ir::Event& event);
  bool dispatch_completed(const ir::Event& event);
  void dispatch_announced(const ir::Event& event);
  // The answer to the claim of a slot in a peer's shared ring.
  bool slot_claim_ended(Connection& connection, const ir::Event& event);

  // Ends of peers: endings.cpp.
  void connection_broke(std::uint32_t rank);
  void renew(std::uint32_t rank);
  void drop_retired();
  void lost(Connection& connection, const char* why) override;
  void fail(Connection& connection, End how);
  // Tells the peer that the connection is lost as soon as its ring has room.
  void break_off_later(Connection& connection);
  // Counts it, and tells the program.
  void tell_end(Connection& connection, End how);
  void peer_gone(std::uint32_t rank, End how);
  // What had arrived before the end. False: there is no memory for some of it, which is tried again.
  bool deliver_the_last(Connection& connection);
  // The peer is dead: what it could reach here serves others again.
  void take_back(Connection& connection);
  [[nodiscard]] Error failed_error(std::uint32_t rank) const;

  // An open world: open_world.cpp.
  Connection* connection_from(const Initiator& initiator, const Port& port) override;
  // The connection that a command to the rank was for, though the rank may have been removed since.
  Connection* connection_of_command(std::uint32_t rank);
  // Gives a process a rank, and attaches it.
  Result<std::uint32_t> admit(Uid uid, const Contact& contact);
  void forget_or_remove(std::uint32_t rank);
  // The process, which knew this one by that number, no longer reaches it.
  void process_gone(Uid uid, std::uint32_t number, End how);
  // Of a peer that is removed: nothing more is written to it. It is let go of when it no longer writes here.
  void part_with(Connection& connection);
  void let_go(Connection& connection, End how = End::left);
  void drop_connection(Connection& connection);
  [[nodiscard]] Connection* find_parting(Uid uid);

  EngineState state_;
  Handlers handlers_;
  RecordWriter record_writer_;
  Fetcher fetcher_;
  Assistant assistant_;
  Sender sender_;
  Receiver receiver_;
  Connector connector_;
  GrantByRead grant_by_read_;
  std::vector<std::unique_ptr<Port>> ports_;
  const Port* lonely_ = nullptr; // serves this process alone, which has no connection to itself
  std::vector<Contact> contacts_;
  std::vector<Connection*> connections_; // by rank; null: never talked to
  base::BackedList<Connection> owned_connections_;
  std::vector<Connection*> retired_;                  // others have taken their places
  base::BackedMap<std::uint32_t, Error> unreachable_; // why, by rank
  base::BackedVector<Connection*> readable_;          // connections with an exclusive ring to read
  base::BackedVector<Connection*> to_pump_;
  base::BackedVector<Connection*> absent_;
  Connection removed_; // stands for all peers that were removed
  Connection broken_;  // what operations on a connection that broke refer to when another has taken its place
  base::BackedVector<Connection*> parting_;     // removed, but their peers may still write here
  base::BackedVector<std::uint32_t> postponed_; // ranks of processes that are still among those
  std::size_t peers_ = 0;                       // not removed: room is kept for their ends
  bool open_ = false;
  bool news_expected_ = false;
  std::size_t next_ring_ = 0;
  std::uint64_t deaths_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t cut_off_ = 0;
  ErrorCode gravest_fate_{};
  std::uint64_t gone_ = 0; // peers that have ended in any way, each counted once
};

} // namespace heddle::engine

#include "engine/engine_inline.hpp"
