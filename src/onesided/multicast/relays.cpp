#include "onesided/multicast/relays.hpp"

#include "onesided/transfers/runs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace heddle::onesided {

namespace {

// Fewer are served as quickly one by one; and so are more, while all their pushes together keep the sender no longer busy than
// this many bytes would.
constexpr std::size_t kFewestReceivers = 4;
constexpr std::uint64_t kBurden = 8 << 10;
// Of one record's runs: small, so that one is handed on while the next is on its way.
constexpr std::uint64_t kMostRelayed = 4 << 10;
// While a record carries all, what counts is how often it is handed on; where many follow each other, how often each is sent.
constexpr std::uint8_t kWideFanout = 4;
constexpr std::uint8_t kNarrowFanout = 2;

constexpr std::uint64_t list_bytes(std::size_t receivers) {
  return receivers * sizeof(RelayReceiver);
}

// What a message consists of. The receivers are copied, since nothing in a ring is aligned.
struct Parsed {
  AreaRelay head;
  base::BackedVector<RelayReceiver> receivers;
  std::span<const std::byte> runs;

  // False: too short.
  bool parse(std::span<const std::byte> content) {
    if (content.size() < sizeof head) return false;
    std::memcpy(&head, content.data(), sizeof head);
    content = content.subspan(sizeof head);
    if (head.receivers == 0 || content.size() / sizeof(RelayReceiver) < head.receivers) return false;
    receivers.resize(head.receivers);
    std::memcpy(receivers.data(), content.data(), list_bytes(receivers.size()));
    runs = content.subspan(list_bytes(receivers.size()));
    return true;
  }
};

} // namespace

bool Relays::suits(const Transfer& receiver, std::size_t receivers) {
  const auto reach = extent(receiver.selection, receiver.local.size());
  const std::uint64_t least = sizeof(AreaRelay) + list_bytes(receivers) + sizeof(ScatterRun) + kPutWorth;
  return receiver.area->everyone && receiver.area->connection->largest_payload >= least && reach &&
         *reach <= std::numeric_limits<std::uint32_t>::max();
}

bool Relays::worthwhile(const Transfer& like, std::size_t receivers) {
  if (receivers < kFewestReceivers) return false;
  const std::uint64_t enough = kBurden / receivers + 1; // for each
  PieceCursor cursor(like.selection, like.local);
  for (Piece piece; cursor.next(piece, enough);)
    if (cursor.selected() + kPutWorth >= enough) return true;
  return false;
}

// --- the origin ---

void Relays::start(std::span<Transfer* const> receivers) {
  const Transfer& any = *receivers.front();
  Relay& relay = under_way_.emplace_back();
  relay.head = {.id = any.area->id, .offset = any.offset, .origin = common_.engine.rank};
  relay.local = any.local;
  relay.cursor = any.cursor;
  relay.signal = any.signal;
  std::uint64_t smallest = kMostRelayed;
  for (Transfer* receiver : receivers) {
    smallest = std::min(smallest,
                        receiver->area->connection->largest_payload - sizeof(AreaRelay) - list_bytes(receivers.size()));
    relay.targets.push_back({.transfer = receiver, .receiver = {.key = receiver->key, .rank = receiver->area->rank}});
  }
  relay.most = smallest;
  pack_runs(relay.cursor, relay.local, relay.most, relay.next);
  send_batch(relay);
}

void Relays::send_batch(Relay& relay) {
  relay.records.clear();
  while (!relay.next.empty() && relay.records.size() < AreaRelay::kMostRecords) {
    relay.records.push_back(std::move(relay.next));
    relay.next = {};
    pack_runs(relay.cursor, relay.local, relay.most, relay.next);
  }
  relay.head.number = next_number_++;
  relay.head.ended = relay.head.number;
  for (const Relay& other : under_way_) relay.head.ended = std::min(relay.head.ended, other.head.number);
  relay.head.records = static_cast<std::uint8_t>(relay.records.size());
  relay.head.fanout = relay.records.size() == 1 ? kWideFanout : kNarrowFanout;
  relay.head.signal = relay.signal.wanted && relay.next.empty() ? 1 : 0;
  relay.head.label = static_cast<std::uint64_t>(relay.signal.label);
  relay.head.bytes = relay.cursor.selected();
  relay.unanswered = relay.targets.size();
  base::BackedVector<RelayReceiver> row;
  for (Target& target : relay.targets) {
    target.answered = target.directly = false;
    row.push_back(target.receiver);
  }
  for (std::size_t i = 0; i < relay.records.size(); ++i) {
    relay.head.record = static_cast<std::uint8_t>(i);
    hand_on(relay.head, row, relay.records[i]);
  }
}

base::BackedList<Relays::Relay>::iterator Relays::find(std::uint64_t number) {
  return std::ranges::find(under_way_, number, [](const Relay& relay) { return relay.head.number; });
}

bool Relays::answered(const Connection& connection, const AreaRelayed& body) {
  if (body.code > static_cast<std::uint64_t>(ErrorCode::system_failed)) return false;
  if (body.missed != 0) {
    common_.work_list.retry(Missed{.number = body.number, .rank = body.rank});
    return true;
  }
  const auto relay = find(body.number);
  if (relay == under_way_.end()) return true;
  for (Target& target : relay->targets)
    if (target.receiver.rank == connection.rank && body.rank == connection.rank && !target.answered) {
      answer(relay, target, static_cast<ErrorCode>(body.code));
      break;
    }
  return true;
}

void Relays::answer(base::BackedList<Relay>::iterator relay, Target& target, ErrorCode code) {
  target.answered = true;
  if (code != ErrorCode::ok) {
    KnownArea& area = *target.transfer->area;
    const bool same_key = static_cast<std::uint64_t>(area.place.key) == target.receiver.key;
    if (code == ErrorCode::revoked_area && same_key) transfers_.forget_area(area);
    transfers_.finish(*std::exchange(target.transfer, nullptr), code);
  }
  if (--relay->unanswered == 0) batch_ended(relay);
}

void Relays::batch_ended(base::BackedList<Relay>::iterator relay) {
  std::erase_if(relay->targets, [](const Target& target) { return target.transfer == nullptr; });
  if (!relay->next.empty() && !relay->targets.empty()) {
    send_batch(*relay);
    return;
  }
  for (const Target& target : relay->targets) transfers_.finish(*target.transfer, ErrorCode::ok);
  under_way_.erase(relay);
}

void Relays::peer_lost(const Connection& connection) {
  for (const Relay& relay : under_way_)
    for (std::size_t i = 0; i < relay.targets.size(); ++i) {
      if (relay.targets[i].receiver.rank != connection.rank) continue;
      const TreePart lost = behind(relay.targets.size(), relay.head.fanout, i);
      for (std::size_t at = i; at < lost.first + lost.count; ++at)
        common_.work_list.retry(Missed{.number = relay.head.number, .rank = relay.targets[at].receiver.rank});
    }
}

void Relays::make_up_for(const Missed& missed) {
  const auto relay = find(missed.number);
  if (relay == under_way_.end()) return;
  const auto target =
      std::ranges::find(relay->targets, missed.rank, [](const Target& each) { return each.receiver.rank; });
  if (target == relay->targets.end() || target->answered) return;
  if (const Connection& connection = *target->transfer->area->connection; connection.failed()) {
    answer(relay, *target, connection.fate);
  } else if (!target->directly) {
    target->directly = true;
    for (std::size_t i = 0; i < relay->records.size(); ++i) {
      relay->head.record = static_cast<std::uint8_t>(i);
      hand(relay->head, {&target->receiver, 1}, relay->records[i]);
    }
  }
}

// --- handing on ---

void Relays::hand_on(AreaRelay head, std::span<const RelayReceiver> receivers, std::span<const std::byte> runs) {
  for (std::size_t i = 0; i < head.fanout; ++i) {
    const TreePart part = tree_part(receivers.size(), head.fanout, i);
    if (part.count > 0) hand(head, receivers.subspan(part.first, part.count), runs);
  }
}

void Relays::hand(const AreaRelay& head, std::span<const RelayReceiver> receivers, std::span<const std::byte> runs) {
  AreaRelay mine = head;
  mine.receivers = static_cast<std::uint32_t>(receivers.size());
  base::BackedVector<std::byte> message(sizeof mine + receivers.size_bytes() + runs.size());
  std::memcpy(message.data(), &mine, sizeof mine);
  std::memcpy(message.data() + sizeof mine, receivers.data(), receivers.size_bytes());
  std::memcpy(message.data() + sizeof mine + receivers.size_bytes(), runs.data(), runs.size());
  if (!write(message)) common_.work_list.retry(RelayMessage{std::move(message)});
}

bool Relays::write(const base::BackedVector<std::byte>& message) {
  Parsed parsed;
  parsed.parse(message);
  Connection& connection = *common_.host.connection_to(static_cast<std::uint32_t>(parsed.receivers.front().rank));
  if (!connection.failed()) common_.host.connect(connection);
  if (connection.failed() || (connection.connected() && message.size() > connection.largest_payload)) {
    miss(parsed.head, parsed.receivers);
    return true;
  }
  return connection.connected() &&
         common_.record_writer.write(
             connection,
             {.kind = RecordKind::area_relay, .body = {}, .payload = message.data(), .payload_bytes = message.size()});
}

void Relays::miss(const AreaRelay& head, std::span<const RelayReceiver> receivers) {
  Connection& origin = *common_.host.connection_to(head.origin);
  for (const RelayReceiver& receiver : receivers) {
    if (head.origin == common_.engine.rank)
      common_.work_list.retry(Missed{.number = head.number, .rank = receiver.rank});
    else if (!origin.failed())
      common_.tell(origin, RecordKind::area_relayed,
                   AreaRelayed{.number = head.number, .rank = receiver.rank, .code = 0, .missed = 1});
  }
}

// --- a receiver ---

bool Relays::record(std::span<const std::byte> content) {
  if (!common_.engine.ranks_agree) return false;
  Parsed message;
  if (!message.parse(content)) return false;
  const AreaRelay& head = message.head;
  const auto outside = [this](const RelayReceiver& receiver) { return receiver.rank >= common_.engine.book.size(); };
  if (head.origin >= common_.engine.book.size() || head.origin == common_.engine.rank || head.fanout == 0 ||
      head.record >= head.records || head.records > AreaRelay::kMostRecords ||
      message.receivers.front().rank != common_.engine.rank || std::ranges::any_of(message.receivers, outside))
    return false;
  put_into_place(head, message.receivers.front(), message.runs);
  hand_on(head, std::span(message.receivers).subspan(1), message.runs);
  return true;
}

void Relays::put_into_place(const AreaRelay& head, const RelayReceiver& self, std::span<const std::byte> runs) {
  FromOrigin& from = arriving_[head.origin];
  from.ended = std::max(from.ended, head.ended);
  std::erase_if(from.arriving, [&from](const Arriving& each) { return each.number < from.ended; });
  if (head.number < from.ended) return; // it came another way long ago
  auto found = std::ranges::find(from.arriving, head.number, &Arriving::number);
  if (found == from.arriving.end())
    found = from.arriving.insert(found, {.number = head.number, .seen = 0, .code = ErrorCode::ok});
  const std::uint64_t bit = std::uint64_t{1} << head.record;
  if ((found->seen & bit) != 0) return;
  found->seen |= bit;
  Connection& origin = *common_.host.connection_to(head.origin);
  const auto code = own_.scatter(origin, {.id = head.id, .key = self.key, .offset = head.offset, .transfer = 0}, runs);
  if (found->code == ErrorCode::ok) found->code = code.value_or(ErrorCode::system_failed);
  const std::uint64_t all = ~std::uint64_t{0} >> (AreaRelay::kMostRecords - head.records);
  if (found->seen != all || origin.failed()) return;
  if (head.signal != 0 && found->code == ErrorCode::ok)
    own_.signalled(origin, {.id = head.id, .key = self.key, .label = head.label, .bytes = head.bytes});
  common_.tell(origin, RecordKind::area_relayed,
               AreaRelayed{.number = head.number,
                           .rank = common_.engine.rank,
                           .code = static_cast<std::uint64_t>(found->code),
                           .missed = 0});
}

} // namespace heddle::onesided
