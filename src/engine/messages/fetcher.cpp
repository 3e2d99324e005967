#include "engine/messages/fetcher.hpp"

#include "engine/messages/claim_cell.hpp"
#include "engine/messages/machines.hpp"

#include <algorithm>
#include <utility>

namespace heddle::engine {

namespace {

// Reads that may be under way at once where the network does them by itself.
constexpr std::size_t kReadsUnderWay = 16;
// Asking for help costs two records and a counter that moves between caches: worth it from a few chunks on.
constexpr std::uint64_t kChunksWorthHelp = 2;

// Where the sender helps, messages from here on are cut so that there is something left to help with after the first read.
constexpr std::uint64_t kCutSmaller = 256 << 10;
constexpr std::uint64_t kPieces = 4;

// The number in a read's cookie: which operation, which chunk.
constexpr unsigned kIndexBits = 24;
constexpr std::uint64_t read_number(std::uint32_t index, std::uint64_t chunk) {
  return (chunk << kIndexBits) | index;
}

std::uint64_t chunks(const Operation& receive) {
  return receive.wanted / receive.chunk + (receive.wanted % receive.chunk != 0 ? 1 : 0);
}

} // namespace

void Fetcher::start(Operation& receive) {
  receive.moved = 0;
  receive.claimed = 0;
  receive.in_flight = 0;
  receive.cell = -1;
  receive.read_refused = false;
  // The number of a chunk has 32 bits in the cookie: enough for 2^32 chunks of any size.
  const ir::Capabilities& capabilities = receive.connection->queue().capabilities();
  receive.chunk = std::min(engine_.limits.chunk_bytes, capabilities.largest_transfer);
  if (engine_.limits.assist && capabilities.processor_copies && receive.wanted >= kCutSmaller)
    receive.chunk = std::min(receive.chunk, receive.wanted / kPieces);
  receive.engine = receive.connection->queue().receiving().take();
  reads_.push_back(receive);
}

void Fetcher::remove(Operation& receive) {
  give_back_engine(receive);
  reads_.remove(receive);
}

// Where the peer is removed this comes first, as long as it is known by which network it was reached; the last read ends later.
void Fetcher::give_back_engine(Operation& receive) {
  if (receive.engine == ir::kAnyEngine) return;
  receive.connection->queue().receiving().give_back(std::exchange(receive.engine, ir::kAnyEngine));
}

// In the order of their beginning; where several engines are at work, a chunk of each in turn, so that none of these waits.
std::size_t Fetcher::progress() {
  std::size_t posted = 0;
  for (std::size_t before = posted;; before = posted) {
    bool in_turn = false;
    for (Operation* receive = reads_.front(); receive != nullptr;) {
      Operation* next = receive->next;
      ScheduleQueue& queue = receive->connection->queue();
      const std::size_t most = queue.capabilities().processor_copies ? 1 : kReadsUnderWay;
      in_turn = in_turn || queue.receiving().several();
      while (under_way_ < most && post_next(*receive)) {
        ++posted;
        if (queue.receiving().several()) break;
      }
      if (under_way_ >= most) return posted;
      receive = next;
    }
    if (!in_turn || posted == before) return posted;
  }
}

bool Fetcher::post_next(Operation& receive) {
  if (receive.stage != Stage::reading || receive.read_refused || receive.connection->failed()) return false;
  std::uint64_t chunk_number = receive.claimed / receive.chunk;
  if (receive.cell >= 0) chunk_number = claim_chunk(receive.connection->port->area->cells[receive.cell]);
  if (chunk_number >= chunks(receive)) { // numbers are compared, not offsets: the peer can write the counter
    const bool none_left = receive.cell >= 0 && receive.in_flight == 0;
    if (none_left && !advance(receive, ReceiveInput::none_left)) receive.read_refused = true; // nothing more is read
    return false;
  }
  // The first read goes alone: it shows whether this peer's memory can be read at all. Other engines need not wait for that.
  if (receive.moved == 0 && receive.in_flight > 0 && !receive.connection->queue().receiving().several()) return false;
  receive.claimed = (chunk_number + 1) * receive.chunk;
  post_chunk(receive, chunk_number);
  return true;
}

void Fetcher::post_chunk(Operation& receive, std::uint64_t chunk_number) {
  const std::uint64_t offset = chunk_number * receive.chunk;
  ir::Command command;
  command.operation = ir::Operation::get;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{receive.connection->rank};
  command.cookie = make_cookie(CookieKind::read, read_number(receive.index(), chunk_number));
  command.remote = receive.place.at(offset);
  command.local = receive.target.data() + offset;
  command.bytes = std::min(receive.chunk, receive.wanted - offset);
  const EngineTurns& engines = receive.connection->queue().receiving();
  const bool more_to_come = engines.several() && std::ranges::any_of(engine_.matching, [](const Matching& each) {
                              return each.posted() > 0;
                            });
  command.send_engine = engines.engine_of(receive.engine, chunk_number, more_to_come);
  command.receive_engine = engines.engine_of(receive.peer_engine, chunk_number, more_to_come);
  ++receive.in_flight;
  ++under_way_;
  receive.connection->queue().post(command);
}

void Fetcher::read_ended(const ir::Event& event) {
  const std::uint64_t number = cookie_number(event.cookie);
  Operation* receive = engine_.operations.at(static_cast<std::uint32_t>(number & ((1U << kIndexBits) - 1)));
  --under_way_;
  --receive->in_flight;
  if (receive->connection->failed()) {
    fail(*receive);
    return;
  }
  if (event.status != ir::Status::ok || receive->read_refused) {
    refused(*receive);
    return;
  }
  const std::uint64_t offset = (number >> kIndexBits) * receive->chunk;
  receive->moved += std::min(receive->chunk, receive->wanted - offset);
  if (receive->moved == receive->chunk && receive->cell < 0) ask_for_help(*receive);
  check_all_here(*receive);
}

void Fetcher::ask_for_help(Operation& receive) {
  Connection& connection = *receive.connection;
  const ir::Capabilities& capabilities = connection.queue().capabilities();
  if (!engine_.limits.assist || !capabilities.processor_copies || !capabilities.atomics_with_processor ||
      connection.writes_shared || receive.in_flight != 0 ||
      receive.wanted - receive.moved < kChunksWorthHelp * receive.chunk)
    return;
  Port& port = *connection.port;
  const auto free = std::find(port.cell_taken.begin(), port.cell_taken.end(), false);
  if (free == port.cell_taken.end()) return;
  auto place = connection.queue().translator().expose({receive.target.data(), receive.wanted});
  if (!place) return;
  const auto cell = static_cast<std::size_t>(free - port.cell_taken.begin());
  *free = true;
  port.cell_owner[cell] = &receive;
  port.cell_peer[cell] = connection.rank;
  port.cell_place[cell] = *place;
  receive.cell = static_cast<std::int32_t>(cell);
  open_cell(port.area->cells[cell], receive.claimed / receive.chunk);
  record_writer_.write_control(connection, RecordKind::assist,
                               AssistRequest{.sender = receive.partner,
                                             .cell = cell,
                                             .key = static_cast<std::uint64_t>(place->key),
                                             .offset = place->offset,
                                             .bytes = receive.wanted,
                                             .chunk = receive.chunk});
}

bool Fetcher::assist_done(Connection& connection, const AssistDone& done) {
  Port& port = *connection.port;
  if (done.cell >= kClaimCells || !port.cell_taken[done.cell] || port.cell_peer[done.cell] != connection.rank)
    return false;
  Operation* receive = port.cell_owner[done.cell];
  if (receive != nullptr) leave_cell(*receive);
  port.cell_taken[done.cell] = false;
  if (receive == nullptr) return true;
  const std::uint64_t claimed = chunks_claimed(port.area->cells[done.cell]);
  receive->claimed = std::min(claimed, chunks(*receive)) * receive->chunk;
  if (done.bytes > receive->wanted - std::min(receive->wanted, receive->moved)) return false;
  receive->moved += done.bytes;
  if (done.lost != 0) {
    if (done.lost > chunks(*receive)) return false;
    if (!advance(*receive, ReceiveInput::chunk_lost)) return false;
    post_chunk(*receive, done.lost - 1);
  }
  const bool nothing_to_come = receive->stage == Stage::awaiting_assist && receive->moved < receive->wanted;
  if (nothing_to_come) return false; // it has claimed chunks and says nothing of them
  check_all_here(*receive);
  return true;
}

void Fetcher::check_all_here(Operation& receive) {
  if (receive.moved < receive.wanted || receive.in_flight > 0) return;
  if (!advance(receive, ReceiveInput::all_here)) return fail(receive);
  remove(receive);
  leave_cell(receive);
  finish(receive);
}

void Fetcher::leave_cell(Operation& receive) {
  // The counter stays taken until the sender has said that it will not touch it any more.
  if (receive.cell < 0) return;
  const auto cell = static_cast<std::size_t>(receive.cell);
  receive.connection->queue().translator().withdraw(receive.connection->port->cell_place[cell]);
  receive.connection->port->cell_owner[cell] = nullptr;
  receive.cell = -1;
}

void Fetcher::finish(Operation& receive) {
  record_writer_.write_control(*receive.connection, RecordKind::finish, Finish::of(receive.partner, receive.wanted));
  const bool cut = receive.completion.message_bytes > receive.completion.bytes;
  engine_.complete(receive, cut ? ErrorCode::truncated : ErrorCode::ok);
}

void Fetcher::refused(Operation& receive) {
  engine_.recorder.record("read refused", receive.connection->rank, receive.wanted);
  receive.read_refused = true;
  if (receive.in_flight > 0) return; // the last of its reads decides
  if (receive.moved > 0 || receive.cell >= 0) {
    // Some of it could be read, so the rest is not there, or no longer. The sender's part ends here too.
    record_writer_.write_control(*receive.connection, RecordKind::finish,
                                 Finish::of(receive.partner, 0, ErrorCode::system_failed));
    fail(receive);
    return;
  }
  if (!advance(receive, ReceiveInput::read_refused)) return fail(receive);
  remove(receive);
  record_writer_.write_control(
      *receive.connection, RecordKind::clear_to_send,
      ClearToSend{.sender = receive.partner, .receiver = receive.name, .bytes = receive.wanted});
}

void Fetcher::fail(Operation& receive) {
  leave_cell(receive);
  give_back_engine(receive);
  if (receive.in_flight > 0) return;
  remove(receive);
  receive.completion.bytes = 0;
  // Of a peer that is still connected: the system refuses to read what it gave, and the connection lives.
  engine_.complete(receive, receive.connection->failed() ? receive.connection->fate : ErrorCode::system_failed);
}

void Fetcher::peer_lost(Connection& connection) {
  for (Operation* receive = reads_.front(); receive != nullptr;) {
    Operation* next = receive->next;
    if (receive->connection == &connection) fail(*receive);
    receive = next;
  }
}

} // namespace heddle::engine
