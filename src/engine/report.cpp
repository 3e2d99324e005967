// What the engine tells about itself: unfinished operations, figures, and how a message would travel.
#include "engine/engine.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heddle::engine {

namespace {

const char* describe(Stage stage) {
  switch (stage) {
    case Stage::free: return "free";
    case Stage::queued: return "waits for the connection or for room in the peer's ring";
    case Stage::awaiting_match: return "sent, waits for a matching receive at the peer";
    case Stage::awaiting_answer: return "request to send is out, waits for the peer to fetch it";
    case Stage::streaming: return "is being sent in fragments";
    case Stage::posted: return "waits for a matching message";
    case Stage::reading: return "is being read from the sender's memory";
    case Stage::awaiting_assist: return "waits for the sender to copy its share";
    case Stage::receiving_fragments: return "is being received in fragments";
    case Stage::running: return "waits for the other processes";
    case Stage::done: return "done, not yet waited for";
  }
  return "?";
}

const char* describe(OperationKind kind) {
  switch (kind) {
    case OperationKind::send: return "send";
    case OperationKind::receive: return "receive";
    case OperationKind::unsolicited_send: return "unsolicited send";
    case OperationKind::unsolicited_receive: return "unsolicited receive";
    case OperationKind::barrier: return "barrier";
    case OperationKind::pattern: return "pattern";
    case OperationKind::exchange: return "all-to-all";
    case OperationKind::one_sided: return "one-sided operation";
  }
  return "?";
}

// Receives from anybody by which collectives and patterns hear what may never be said, and swallow what is left of them after
// a death (engine/swallower.hpp): nobody waits for these.
bool stands_by(const Operation& operation) {
  return operation.stage == Stage::posted && operation.channel != Channel::program &&
         operation.channel != Channel::second && operation.match.source == kAnySource;
}

std::string rank_text(Rank rank) {
  return rank == kAnySource ? "any rank" : "rank " + std::to_string(static_cast<std::uint32_t>(rank));
}

std::string hex(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[value & 0xfU]);
    value >>= 4U;
  } while (value != 0);
  return "0x" + text;
}

} // namespace

bool Engine::waits_since(std::uint64_t count) {
  bool found = std::ranges::any_of(handlers_.protocols(),
                                   [](const ProtocolRow& row) { return !row.protocol->waiting_for().empty(); });
  state_.operations.visit_all([&](const Operation& operation) {
    found = found || (operation.stage != Stage::done && operation.started < count && !stands_by(operation));
  });
  return found;
}

std::string Engine::waiting_for(const base::Ages* ages, std::uint64_t now_ns) {
  // Those alike are one line, in the place of the first.
  struct Alike {
    std::uint64_t count = 0;
    std::uint64_t started = 0; // the oldest
  };
  std::map<std::string, Alike> alike;
  std::vector<decltype(alike)::value_type*> lines;
  state_.operations.visit_all([&](Operation& operation) {
    if (operation.stage == Stage::done || stands_by(operation)) return;
    std::string text = describe(operation.kind);
    if (operation.stage == Stage::posted) {
      text +=
          " from " + rank_text(operation.match.source) + " tag " + hex(static_cast<std::uint64_t>(operation.match.tag));
      if (operation.match.mask != kWholeTag) text += " mask " + hex(operation.match.mask);
    } else if (operation.stage != Stage::running) {
      const bool comes =
          operation.kind == OperationKind::receive || operation.kind == OperationKind::unsolicited_receive;
      text += comes ? " from " : " to ";
      text += rank_text(operation.completion.peer) + " tag " +
              hex(static_cast<std::uint64_t>(operation.completion.tag)) + ", " +
              std::to_string(operation.completion.message_bytes) + " bytes";
    }
    text += std::string(": ") + describe(operation.stage);
    if (operation.connection != nullptr && !operation.connection->connected()) text += " (not connected)";
    const auto [line, is_new] = alike.try_emplace(std::move(text), Alike{.started = operation.started});
    if (is_new) lines.push_back(&*line);
    ++line->second.count;
    line->second.started = std::min(line->second.started, operation.started);
  });
  std::string text;
  for (const auto* line : lines) {
    const auto& [what, found] = *line;
    text += what;
    if (found.count > 1) text += ", " + std::to_string(found.count) + " of them";
    if (ages != nullptr)
      text += (found.count > 1 ? ", the oldest for " : ", for ") + base::seconds_text(ages->of(found.started, now_ns));
    text += '\n';
  }
  const std::string held = state_.unsolicited.held() == 0
                               ? "\n"
                               : "; " + std::to_string(state_.unsolicited.held()) +
                                     " bytes of unsolicited ones are held, of at most " +
                                     std::to_string(state_.unsolicited.limit()) + ": poll and release them\n";
  for (const Connection* connection : to_pump_)
    if (connection->held_back)
      text += "messages of rank " + std::to_string(connection->rank) + ": wait for memory" + held;
  if (receiver_.waiting() > 0)
    text += std::to_string(receiver_.waiting()) + " large unsolicited messages: wait for memory" + held;
  for (const ProtocolRow& row : handlers_.protocols()) text += row.protocol->waiting_for();
  return text;
}

ExpectedProtocol expected_protocol(const Limits& limits, const ir::Capabilities& capabilities, std::uint64_t bytes) {
  // As RingHandover::adopt reckons for an exclusive ring.
  const std::uint64_t ring_room = largest_record(limits.ring_bytes) - kRecordHeadBytes - kLeadBytes;
  const std::uint64_t limit = std::min(limits.eager_limit, ring_room);
  const MessageProtocol protocol = bytes <= limit                  ? MessageProtocol::eager
                                   : capabilities.reads_any_memory ? MessageProtocol::rendezvous_by_read
                                                                   : MessageProtocol::rendezvous_by_fragments;
  return {.protocol = protocol, .eager_limit = limit};
}

ExpectedProtocol Engine::expected_protocol(std::uint32_t rank, std::uint64_t bytes) const {
  const Connection* connection = connections_[rank];
  if (connection != nullptr && connection->connected())
    return {.protocol = protocol_for(*connection, bytes, true, 0), .eager_limit = connection->eager_limit};
  Limits limits = state_.limits;
  limits.ring_bytes = state_.rings.ring_bytes(); // smaller than wished where memory for rings is short
  return engine::expected_protocol(limits, ports_[contacts_[rank].port]->queue->capabilities(), bytes);
}

std::vector<Context::Figure> Engine::figures() const {
  std::uint64_t connected = 0;
  std::uint64_t shared = 0;
  std::uint64_t died = 0;
  std::uint64_t left = 0;
  std::uint64_t lost = 0;
  for (const Connection& connection : owned_connections_) {
    connected += connection.connected() ? 1U : 0U;
    shared += connection.connected() && connection.ring.grant.type == RingType::shared ? 1U : 0U;
    died += connection.fate == ErrorCode::peer_failed ? 1U : 0U;
    left += connection.fate == ErrorCode::peer_left ? 1U : 0U;
    lost += connection.fate == ErrorCode::connection_lost ? 1U : 0U;
  }
  std::uint64_t posted = 0;
  std::uint64_t unexpected = 0;
  for (const Channel channel : {Channel::program, Channel::second}) {
    posted += state_.matching[static_cast<std::size_t>(channel)].posted();
    unexpected += state_.matching[static_cast<std::size_t>(channel)].unexpected();
  }
  std::uint64_t classes = 0;
  std::uint64_t outside = 0;
  std::uint64_t searches = 0;
  for (const Matching& matching : state_.matching) {
    classes += matching.classes();
    outside += matching.outside_classes();
    searches += matching.searches();
  }
  std::uint64_t under_way = 0;
  state_.operations.visit_all([&](const Operation& operation) { under_way += stands_by(operation) ? 0U : 1U; });
  return {{"peers connected", connected},
          {"peers that share a ring", shared},
          {"peers failed", died},
          {"peers left", left},
          {"connections lost", lost},
          {"ring memory bytes", state_.rings.used()},
          {"ring memory limit bytes", state_.rings.limit()},
          {"operations under way", under_way},
          {"receives posted", posted},
          {"messages not received", unexpected},
          {"classes of matches in hashes", classes},
          {"receives outside of classes", outside},
          {"searches one by one", searches},
          {"bytes of unexpected messages", state_.buffers.bytes_in_use()},
          {"unsolicited memory bytes", state_.unsolicited.held()},
          {"unsolicited memory limit bytes", state_.unsolicited.limit()},
          {"unsolicited messages refused", state_.unsolicited.refused()}};
}

} // namespace heddle::engine
