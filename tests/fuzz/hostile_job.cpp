#include "tests/fuzz/hostile_job.hpp"

#include "onesided/records.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::fuzz {

namespace {

using engine::RecordKind;
using engine::RingType;
using engine::SlotBody;
using engine::SlotVerb;

constexpr std::size_t kMostUnderWay = 64; // of the program's own operations, to keep an input's cost in bounds

HostileNetwork::Shape shape_of(std::uint8_t bits) {
  const bool announces = (bits & 1U) != 0;
  const bool copies = !announces && (bits & 2U) != 0;
  return {.capabilities = {.announces_writes = announces,
                           .announces_reads = announces,
                           .orders_puts = (bits & 4U) != 0,
                           .atomics = true,
                           .atomics_with_processor = copies,
                           .atomics_on_any_memory = copies,
                           .reads_any_memory = (bits & 8U) != 0,
                           .processor_copies = copies,
                           .inline_bytes = copies ? std::uint64_t{1} << 30U : 0,
                           .largest_transfer = std::uint64_t{1} << 30U},
          .direct = copies && (bits & 16U) != 0,
          .copies = announces && (bits & 16U) != 0};
}

// What a record of that kind holds before its payload.
std::size_t body_bytes(RecordKind kind) {
  using namespace engine;
  using namespace onesided;
  switch (kind) {
    case RecordKind::eager_synchronous: return sizeof(SynchronousHead);
    case RecordKind::request_to_send:
    case RecordKind::request_to_send_unsolicited: return sizeof(RequestToSend);
    case RecordKind::finish: return sizeof(Finish);
    case RecordKind::clear_to_send: return sizeof(ClearToSend);
    case RecordKind::assist: return sizeof(AssistRequest);
    case RecordKind::assist_done: return sizeof(AssistDone);
    case RecordKind::area_ask: return sizeof(AreaAsk);
    case RecordKind::area_grant: return sizeof(AreaGrant);
    case RecordKind::area_revoked: return sizeof(AreaRevoked);
    case RecordKind::area_signal: return sizeof(AreaSignal);
    case RecordKind::area_scatter: return sizeof(AreaScatter);
    case RecordKind::area_scattered: return sizeof(AreaScattered);
    case RecordKind::area_relay: return sizeof(AreaRelay);
    case RecordKind::area_relayed: return sizeof(AreaRelayed);
    case RecordKind::lock_passed: return sizeof(LockPassed);
    case RecordKind::broken_off: return 0;
    case RecordKind::none:
    case RecordKind::wrap:
    case RecordKind::eager:
    case RecordKind::unsolicited:
    case RecordKind::fragment: return 0;
  }
  return 0;
}

// What the words of a record's body are, a letter each, so that records come that the engine takes seriously:
//   s a word that the engine wrote, n a small number, i an area, k a key of the engine's, K one of the peers', o an offset,
//   b bytes, B enough bytes for a lock, z a code, mostly ok, T code and traits, r a rank, f yes or no, w anything,
//   R origin and number of receivers, Q which record of how many, and to how many it is handed on
std::string_view fields_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::eager_synchronous: return "w";
    case RecordKind::request_to_send:
    case RecordKind::request_to_send_unsolicited: return "wbkof";
    case RecordKind::finish: return "sb";
    case RecordKind::clear_to_send: return "swb";
    case RecordKind::assist: return "snkobB";
    case RecordKind::assist_done: return "nbn";
    case RecordKind::area_ask: return "i";
    case RecordKind::area_grant: return "iKoBT";
    case RecordKind::area_revoked: return "iK";
    case RecordKind::area_signal: return "ikwb";
    case RecordKind::area_scatter: return "ikon";
    case RecordKind::area_scattered: return "nz";
    case RecordKind::area_relay: return "ionnwbRQ";
    case RecordKind::area_relayed: return "nrzf";
    case RecordKind::lock_passed: return "rin";
    case RecordKind::broken_off: return "";
    case RecordKind::none:
    case RecordKind::wrap:
    case RecordKind::eager:
    case RecordKind::unsolicited:
    case RecordKind::fragment: return "";
  }
  return "";
}

void store_word(std::byte* at, std::uint64_t word) {
  std::memcpy(at, &word, sizeof word);
}

} // namespace

HostileJob::HostileJob(Input& input) : input_(input) {
  const auto bits = input.take<std::uint8_t>();
  const auto shape = shape_of(bits);
  announces_ = shape.capabilities.announces_writes;
  network_ = std::make_unique<HostileNetwork>(shape, kSize);
  queue_ = std::make_unique<engine::ScheduleQueue>(*network_);
  self_queue_ = std::make_unique<engine::ScheduleQueue>(self_);
  const std::array queues{self_queue_.get(), queue_.get()};
  constexpr std::uint64_t kRing = 4096;
  const bool shared = (bits & 32U) != 0; // rings are short, so that the second peer already shares one
  auto made = engine::Engine::create(kSelf, kSize,
                                     {.eager_limit = 256,
                                      .ring_bytes = kRing,
                                      .ring_memory = (shared ? 4 : 32) * kRing,
                                      .chunk_bytes = 512,
                                      .assist = true},
                                     queues, recorder_);
  demand(made.has_value(), "an engine is made");
  engine_ = std::move(*made);
  std::vector<engine::Contact> contacts(kSize, engine::Contact{.address = {}, .port = 1});
  contacts[kSelf].port = 0;
  engine_->set_contacts(std::move(contacts));
  one_sided_engine_ = std::make_unique<onesided::OneSidedEngine>(engine_->services());
  area_ = reinterpret_cast<engine::BootstrapArea*>(network_->block(ir::MemoryKey{101}).data());
  exposed_.reserve(64);
}

HostileJob::~HostileJob() = default;

std::uint64_t HostileJob::word() {
  const auto choice = input_.take<std::uint8_t>();
  if (choice < 96) return choice;
  if (choice < 128) return network_->seen(choice);
  if (choice < 192) return (std::uint64_t{1} << (choice & 63U)) - (input_.take<std::uint8_t>() & 1U);
  if (choice < 208) return ~std::uint64_t{0} - (choice & 15U);
  if (choice < 216) return static_cast<std::uint64_t>(HostileNetwork::kPeerMemory);
  if (choice < 240) return 8U * (choice & 31U) * input_.take<std::uint8_t>();
  return input_.take<std::uint64_t>();
}

void HostileJob::progress(int times) {
  for (int i = 0; i < times; ++i) {
    engine_->progress_all();
    if (also_) also_();
  }
}

// As engines that were told nothing else number the processes of a job.
constexpr engine::Uid uid_of(std::uint32_t rank) {
  return rank + 1;
}

void HostileJob::connect(std::uint32_t with) {
  Input none({});
  SlotBody body;
  body.slot = 9;
  body.number = kSelf;
  body.sender = uid_of(with);
  body.grant = {.type = RingType::exclusive,
                .place = {.key = HostileNetwork::kPeerMemory, .offset = 4096 * std::uint64_t{with}},
                .bytes = 4096};
  body.consumed = {.key = HostileNetwork::kPeerMemory, .offset = 8 * std::uint64_t{with}};
  if (announces_) {
    network_->push({.kind = ir::EventKind::remote_read, .peer = ir::Peer{with}, .value = 9});
    progress();
    while (network_->pending() > 0) network_->complete(0, ir::Status::ok, 0, none);
    progress();
    // It asks for a ring in return, in the first of its slots that is free: one peer after the other.
    for (std::uint32_t i = 0; i < engine::kCommandSlots; ++i) {
      std::memcpy(static_cast<void*>(&area().slots[i].body), &body, sizeof body);
      area().slots[i].lead.store(engine::pack_word(SlotVerb::answer, uid_of(with)));
      network_->push({.kind = ir::EventKind::remote_written, .peer = ir::Peer{with}, .value = i});
      progress();
      if (engine_->connected(with)) break;
    }
    return;
  }
  area().common.lock.store(engine::incarnation_of(uid_of(with), kSelf));
  area().common.initiator.number = kSelf;
  area().common.initiator.uid = uid_of(with);
  area().common.request.store(engine::pack_request(9));
  progress();
  const std::uint32_t own = network_->slot_for(with);
  std::memcpy(static_cast<void*>(&area().slots[own].body), &body, sizeof body);
  area().slots[own].lead.store(engine::pack_word(SlotVerb::information, uid_of(with)));
  progress();
}

void HostileJob::play(std::span<const Move> moves, std::uint32_t others,
                      const std::function<void(std::uint32_t)>& more) {
  const auto kinds = static_cast<std::uint32_t>(moves.size()) + others;
  while (!input_.empty()) {
    const std::uint32_t choice = input_.below(kinds);
    if (choice < moves.size())
      make(moves[choice]);
    else
      more(choice - static_cast<std::uint32_t>(moves.size()));
    progress();
  }
}

void HostileJob::make(Move move) {
  switch (move) {
    case Move::record: return lay_record();
    case Move::ring_bytes: return lay_bytes();
    case Move::shared_slot: return lay_shared();
    case Move::request: return write_request();
    case Move::slot: return write_slot();
    case Move::cell: return area().cells[input_.below(engine::kClaimCells)].next.store(word());
    case Move::consumed: return scribble(input_.below(16), 0, word()); // among them the words that peers report to
    case Move::complete: {
      const auto how = input_.take<std::uint8_t>();
      const auto status = static_cast<ir::Status>(how < 192 ? 0 : how % 4);
      const std::uint64_t value = word();
      return network_->complete(how & 7U, status, value, input_);
    }
    case Move::notice: return write_notice();
    case Move::back_pressure: return network_->refuse((input_.take<std::uint8_t>() & 1U) != 0);
    case Move::send: return send(false);
    case Move::send_unsolicited: return send(true);
    case Move::receive: return receive();
    case Move::probe: return probe();
    case Move::cancel: {
      const std::uint64_t number = input_.below(256);
      for (auto& [cookie, each] : busy_)
        if (each.request != 0 && cookie % 8 == number % 8) engine_->cancel(Request{each.request});
      return;
    }
    case Move::collect: return collect();
    case Move::own_area: return own_area();
    case Move::one_sided: return one_sided();
    case Move::lock: return lock();
    case Move::die: {
      const auto how = input_.take<std::uint8_t>();
      const std::uint32_t who = peer();
      if (how < 64)
        engine_->peer_failed(who);
      else if (how < 80)
        engine_->peer_left(who);
      return;
    }
    case Move::progress:
      for (int i = 0; i < 8; ++i) engine_->progress();
      engine_->try_again_now();
      return;
  }
}

// --- what peers write ---

std::uint64_t HostileJob::field(char what) {
  const auto choice = input_.take<std::uint8_t>();
  if (choice >= 240) return word(); // now and then something else
  switch (what) {
    case 's': return network_->seen(choice);
    case 'n': return choice & 7U;
    case 'i': return choice & 3U;
    case 'k': return 100U + (choice & 31U);
    case 'K': return static_cast<std::uint64_t>(HostileNetwork::kPeerMemory);
    case 'o': return 8U * (choice & 15U);
    case 'b': return choice < 128 ? choice : 128U * (choice & 31U);
    case 'B': return choice < 192 ? 4096 : 512;
    case 'z': return choice < 160 ? 0 : choice & 15U;
    case 'T': return (choice < 192 ? 0 : choice & 15U) | (std::uint64_t{choice & 7U} << 32U);
    case 'r': return choice % kSize;
    case 'f': return choice & 1U;
    case 'R': return choice % kSize | (std::uint64_t{(choice >> 2U) & 3U} << 32U);
    case 'Q':
      return (choice & 3U) | (std::uint64_t{1U + ((choice >> 2U) & 3U)} << 8U) |
             (static_cast<std::uint64_t>(choice >> 7U) << 16U) | (std::uint64_t{2} << 24U);
    default: return word();
  }
}

// A body and what follows it, as its kind has them.
std::vector<std::byte> HostileJob::tame_content(RecordKind kind) {
  std::vector<std::byte> bytes;
  const auto append = [&bytes](std::uint64_t word) {
    bytes.resize(bytes.size() + 8);
    store_word(bytes.data() + bytes.size() - 8, word);
  };
  std::uint64_t receivers = 0;
  for (const char what : fields_of(kind)) {
    append(field(what));
    std::uint64_t last = 0;
    std::memcpy(&last, bytes.data() + bytes.size() - 8, 8);
    if (what == 'R') receivers = std::min<std::uint64_t>(last >> 32U, 4);
  }
  for (; receivers > 0; --receivers) {
    append(field('k'));
    append(field('r'));
  }
  const bool in_runs = kind == RecordKind::area_scatter || kind == RecordKind::area_relay;
  for (std::uint32_t runs = in_runs ? input_.below(4) : 0; runs > 0; --runs) {
    const std::uint64_t length = input_.below(24);
    append(field('o') | (length << 32U));
    bytes.resize(bytes.size() + length);
  }
  const bool payload = fields_of(kind).empty() || kind == RecordKind::eager_synchronous;
  if (payload) bytes.resize(bytes.size() + input_.below(200));
  return bytes;
}

std::vector<std::byte> HostileJob::content(RecordKind kind) {
  if (input_.take<std::uint8_t>() < 192) return tame_content(kind);
  std::vector<std::byte> bytes(body_bytes(kind));
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) store_word(bytes.data() + at, word());
  const auto length = input_.take<std::uint8_t>();
  if (length < 128) {
    const auto payload = input_.bytes(length);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  } else if (length < 192) {
    for (unsigned i = length & 31U; i > 0; --i) {
      bytes.resize(bytes.size() + 8);
      store_word(bytes.data() + bytes.size() - 8, word());
    }
  } else if (length < 240) {
    bytes.resize(bytes.size() + 4U * (length & 63U));
  }
  return bytes;
}

void HostileJob::lay_record() {
  const std::uint32_t from = peer();
  const auto kind = static_cast<RecordKind>(input_.below(engine::kRecordKinds + 1));
  const auto channel = static_cast<engine::Channel>(input_.below(8) < 5 ? 0 : input_.below(4));
  const std::uint64_t tag = kind == RecordKind::fragment ? field('s') : field('n');
  say(from, kind, channel, tag, content(kind));
}

void HostileJob::scribble(std::uint32_t number, std::uint64_t at, std::uint64_t value) {
  const auto block = network_->block(ir::MemoryKey{101 + number});
  if (block.size() >= 8) store_word(block.data() + at % (block.size() / 8) * 8, value);
}

void HostileJob::say(std::uint32_t from, RecordKind kind, engine::Channel channel, std::uint64_t tag,
                     std::span<const std::byte> bytes) {
  const engine::RingGrant& grant = network_->granted(from);
  const auto memory = network_->block(grant.place.key);
  if (grant.type != RingType::exclusive || memory.size() != grant.bytes) return;
  std::uint64_t at = at_[from] % grant.bytes;
  const std::uint64_t span = engine::record_span(bytes.size());
  if (at + span + engine::kLeadBytes > grant.bytes) {
    store_word(memory.data(), 0);
    store_word(memory.data() + at, engine::Lead{.kind = RecordKind::wrap}.pack());
    at = 0;
  }
  store_word(memory.data() + at + 8, tag);
  std::copy(bytes.begin(), bytes.end(), memory.begin() + static_cast<std::ptrdiff_t>(at + 16));
  store_word(memory.data() + at + span, 0);
  store_word(memory.data() + at,
             engine::Lead{.kind = kind, .channel = channel, .bytes = static_cast<std::uint32_t>(bytes.size())}.pack());
  at_[from] = at + span;
  if (announces_)
    network_->push({.kind = ir::EventKind::remote_written, .peer = ir::Peer{from}, .value = engine::kRecordWritten});
}

void HostileJob::lay_bytes() {
  const std::uint32_t from = peer();
  const engine::RingGrant& grant = network_->granted(from);
  const auto memory = network_->block(grant.place.key);
  const auto bytes = input_.bytes(8U * input_.below(32));
  if (memory.empty() || grant.bytes > memory.size()) return;
  const std::uint64_t at = at_[from] % grant.bytes;
  std::copy_n(bytes.begin(), std::min<std::uint64_t>(bytes.size(), grant.bytes - at),
              memory.begin() + static_cast<std::ptrdiff_t>(at));
  if (announces_)
    network_->push({.kind = ir::EventKind::remote_written, .peer = ir::Peer{from}, .value = engine::kRecordWritten});
}

void HostileJob::lay_shared() {
  const std::uint32_t from = peer();
  const auto kind = static_cast<RecordKind>(input_.below(engine::kRecordKinds + 1));
  const auto oddity = input_.take<std::uint8_t>();
  const std::uint64_t tag = word();
  std::vector<std::byte> bytes = content(kind);
  const engine::RingGrant& grant = network_->granted(from);
  const auto memory = network_->block(grant.place.key);
  if (grant.type != RingType::shared || memory.size() < grant.bytes) return;
  bytes.resize(std::min<std::uint64_t>(bytes.size(), engine::shared_payload(grant.slot_bytes)));
  const std::uint64_t slots = grant.bytes / grant.slot_bytes;
  std::byte* slot = memory.data() + shared_at_ % slots * grant.slot_bytes;
  engine::Claim claim{.lap = static_cast<std::uint32_t>(shared_at_ / slots), .owner = from + 1, .ready = true};
  if (oddity == 1) claim.lap += 1;
  if (oddity == 2) claim.ready = false;
  if (oddity == 3) claim.owner = static_cast<std::uint32_t>(tag);
  engine::Lead lead{.kind = kind, .channel = {}, .bytes = static_cast<std::uint32_t>(bytes.size())};
  if (oddity == 4) lead.bytes = static_cast<std::uint32_t>(tag);
  store_word(slot + 8, oddity == 5 ? tag : lead.pack());
  store_word(slot + 16, tag);
  std::copy(bytes.begin(), bytes.end(), slot + 24);
  store_word(slot, claim.pack());
  if (oddity == 0 || oddity > 5) ++shared_at_;
  if (announces_)
    network_->push({.kind = ir::EventKind::remote_written, .peer = ir::Peer{from}, .value = engine::kRecordWritten});
}

void HostileJob::write_request() {
  const auto choice = input_.take<std::uint8_t>();
  const std::uint32_t slot = input_.below(70);
  area().common.lock.store(choice % 5);
  area().common.initiator.uid = choice < 224 ? uid_of(choice % (kSize + 1)) : word();
  area().common.request.store(choice < 240 ? engine::pack_request(slot) : word());
}

void HostileJob::write_slot() {
  const std::uint32_t from = peer();
  const auto choice = input_.take<std::uint8_t>();
  const std::uint32_t index = choice < 160 ? network_->slot_for(from) : choice % engine::kCommandSlots;
  SlotBody body;
  body.slot = choice < 240 ? choice & 63U : static_cast<std::uint32_t>(word());
  body.number = choice < 248 ? kSelf : choice;
  body.sender = uid_of(choice < 248 ? from : choice % 8);
  const auto what = input_.take<std::uint8_t>();
  body.grant = {.type = static_cast<RingType>(what < 224 ? 1 + (what & 1U) : word()),
                .place = {.key = HostileNetwork::kPeerMemory, .offset = (what & 2U) != 0 ? word() : 4096},
                .bytes = (what & 4U) != 0 ? word() : 4096,
                .slot_bytes = (what & 8U) != 0 ? word() : 128};
  body.consumed = {.key = HostileNetwork::kPeerMemory, .offset = (what & 16U) != 0 ? word() : 0};
  std::memcpy(static_cast<void*>(&area().slots[index].body), &body, sizeof body);
  area().slots[index].lead.store(engine::pack_word(static_cast<SlotVerb>(input_.below(8)), body.sender));
}

void HostileJob::write_notice() {
  const auto choice = input_.take<std::uint8_t>();
  const std::uint64_t value = (choice & 4U) != 0 ? engine::kRecordWritten : word();
  const std::uint32_t from = peer();
  if (!announces_) return; // its contract: such a network sends none
  network_->push({.kind = (choice & 1U) != 0 ? ir::EventKind::remote_read : ir::EventKind::remote_written,
                  .peer = ir::Peer{from},
                  .value = value});
}

// --- what the program does ---

std::pair<HostileJob::Busy*, std::uint64_t> HostileJob::busy(std::size_t bytes) {
  const std::uint64_t cookie = ++next_cookie_;
  Busy& made = busy_[cookie];
  made.memory.resize(bytes);
  return {&made, cookie};
}

void HostileJob::send(bool unsolicited) {
  const std::uint32_t to = input_.below(8) == 0 ? kSelf : peer();
  const auto choice = input_.take<std::uint8_t>();
  if (busy_.size() >= kMostUnderWay) return;
  const auto [mine, cookie] = busy(choice < 128 ? choice : 40U * (choice & 127U));
  const bool by_event = (choice & 1U) != 0;
  const engine::Engine::SendArguments arguments{
      .to = Rank{to},
      .tag = Tag{input_.below(4)},
      .mode = !unsolicited && (choice & 2U) != 0 ? SendMode::synchronous : SendMode::standard,
      .notify = by_event ? Notify::event(cookie) : Notify::request()};
  const ConstLayout layout((choice & 4U) != 0 && mine->memory.size() >= 16
                               ? ConstLayout::strided(mine->memory.data(), mine->memory.size() / 16, 8, 16)
                               : ConstLayout(mine->memory));
  const auto request = unsolicited ? engine_->send_unsolicited(arguments, layout) : engine_->send(arguments, layout);
  if (!request)
    busy_.erase(cookie);
  else if (!by_event)
    mine->request = request->name;
}

void HostileJob::receive() {
  const auto choice = input_.take<std::uint8_t>();
  const Match match{.source = (choice & 8U) != 0 ? kAnySource : Rank{peer()},
                    .tag = Tag{choice & 3U},
                    .mask = (choice & 4U) != 0 ? ~std::uint64_t{0} : 3};
  const std::size_t room = 16U * input_.take<std::uint8_t>();
  if (busy_.size() >= kMostUnderWay) return;
  const auto [mine, cookie] = busy(room);
  const bool by_event = (choice & 16U) != 0;
  const Notify notify = by_event ? Notify::event(cookie) : Notify::request();
  const Layout layout((choice & 32U) != 0 && room >= 16 ? Layout::strided(mine->memory.data(), room / 16, 8, 16)
                                                        : Layout(mine->memory));
  auto request = !messages_.empty() && (choice & 64U) != 0 ? engine_->receive_matched(messages_.back(), layout, notify)
                                                           : engine_->receive(match, layout, notify);
  if (!messages_.empty() && (choice & 64U) != 0) messages_.pop_back();
  if (!request)
    busy_.erase(cookie);
  else if (!by_event)
    mine->request = request->name;
}

void HostileJob::probe() {
  const auto choice = input_.take<std::uint8_t>();
  const Match match{.source = (choice & 8U) != 0 ? kAnySource : Rank{choice % kSize}, .tag = Tag{0}, .mask = 0};
  if ((choice & 16U) != 0) {
    static_cast<void>(engine_->probe(match));
  } else if (const auto found = engine_->matched_probe(match); found && *found) {
    messages_.push_back(**found);
  }
}

void HostileJob::collect() {
  std::array<Event, 32> events;
  for (std::size_t i = engine_->take_events(events); i > 0; --i) {
    const Event& event = events[i - 1];
    if (event.kind == Event::Kind::unsolicited_arrived) {
      std::uint64_t sum = 0; // all of it is there
      for (std::uint64_t at = 0; at < event.unsolicited.bytes; ++at)
        sum += static_cast<std::uint64_t>(event.unsolicited.data[at]);
      demand(sum <= 255 * event.unsolicited.bytes, "an unsolicited message can be read");
      engine_->release(event.unsolicited.handle);
    } else if (event.kind != Event::Kind::peer_failed && event.kind != Event::Kind::pushed) {
      busy_.erase(event.cookie);
    }
  }
  std::erase_if(busy_, [this](const auto& each) {
    return each.second.request != 0 && engine_->take_completion(Request{each.second.request}).has_value();
  });
  std::erase_if(one_sided_, [](const OneSided& each) { return each.tracker.ended(); });
}

void HostileJob::own_area() {
  const auto choice = input_.take<std::uint8_t>();
  const AreaId id{choice & 3U};
  const Access access = (choice & 4U) != 0 ? Access::all() : Access::only({Rank{2}});
  onesided::OneSidedEngine& primitives = *one_sided_engine_;
  switch ((choice >> 3U) & 3U) {
    case 0: static_cast<void>(primitives.allocate(id, 64U + (choice >> 5U) * 256U, access)); break;
    case 1:
      if (exposed_.size() == exposed_.capacity()) return;
      exposed_.emplace_back(300);
      static_cast<void>(primitives.expose(id, exposed_.back(), access));
      break;
    case 2: static_cast<void>(primitives.create_lock(id)); break;
    default: static_cast<void>(primitives.close(id));
  }
}

void HostileJob::one_sided() {
  const auto choice = input_.take<std::uint8_t>();
  const auto kind = input_.take<std::uint8_t>();
  if (one_sided_.size() >= kMostUnderWay) return;
  OneSided& mine = one_sided_.emplace_back();
  mine.memory.resize(4U * input_.take<std::uint8_t>());
  const Rank target{(choice & 32U) != 0 ? kSelf : peer()};
  mine.target = static_cast<std::uint32_t>(target);
  const Place place{.peer = target, .area = AreaId{choice & 3U}, .offset = (choice & 4U) != 0 ? word() : choice & 24U};
  onesided::OneSidedEngine& primitives = *one_sided_engine_;
  onesided::OneSidedEngine::Move move{.place = place, .local = mine.memory};
  if ((kind & 8U) != 0) move.selection = Selection::strided(4, mine.memory.size() / 8, 8, 8);
  if ((kind & 16U) != 0) {
    mine.bits.assign(2, 0x5555'1234'5555'9999ULL);
    move.selection = Selection::bitmap(mine.bits, 4);
  }
  if ((kind & 32U) != 0) move.signal = Signal::event(Tag{9});
  switch (kind & 7U) {
    case 0:
    case 1:
      if (move.selection.kind == Selection::Kind::all && !move.signal.wanted && primitives.push_now(place, mine.memory))
        return;
      return primitives.push(move, mine.tracker);
    case 2:
      move.signal = {};
      if (move.selection.kind == Selection::Kind::all && primitives.pull_now(place, mine.memory)) return;
      return primitives.pull(move, mine.tracker);
    case 3:
    case 4: {
      const std::array peers{Rank{0}, Rank{2}, Rank{3}, Rank{kSelf}};
      mine.target = kSelf; // some of them
      return primitives.mcast(std::span(peers).first(kind % 5U), move, mine.tracker);
    }
    default: {
      const Atomic atomic{static_cast<Atomic::Kind>(choice % 6U), 3, 0, (kind & 1U) != 0 ? 4U : 8U};
      if (primitives.atomic_now(place, atomic)) return;
      return primitives.atomic(place, atomic, mine.tracker);
    }
  }
}

void HostileJob::lock() {
  const auto choice = input_.take<std::uint8_t>();
  if (one_sided_.size() >= kMostUnderWay) return;
  OneSided& mine = one_sided_.emplace_back();
  const Rank home{(choice & 4U) != 0 ? kSelf : peer()};
  const AreaId id{choice & 3U};
  mine.target = static_cast<std::uint32_t>(home);
  onesided::OneSidedEngine& primitives = *one_sided_engine_;
  switch ((choice >> 4U) & 3U) {
    case 0:
      if (!primitives.lock_now(home, id)) primitives.lock(home, id, mine.tracker);
      return;
    case 1: return primitives.try_lock(home, id, mine.tracker);
    default:
      if (!primitives.unlock_now(home, id)) primitives.unlock(home, id, mine.tracker);
  }
}

// --- the end ---

void HostileJob::finish() {
  Input none({});
  network_->refuse(false);
  for (std::uint32_t rank = 0; rank < kSize; ++rank)
    if (rank != kSelf) engine_->peer_failed(rank);
  for (int quiet = 0; quiet < 3; ++quiet) {
    if (!network_->quiet()) quiet = 0;
    while (network_->pending() > 0) network_->complete(0, ir::Status::peer_lost, 0, none);
    progress(2);
    collect();
  }
  for (auto& [cookie, each] : busy_)
    if (each.request != 0) engine_->cancel(Request{each.request});
  collect();
  const std::string waiting = engine_->waiting_for();
  static_cast<void>(engine_->figures());
  for (const OneSided& each : one_sided_)
    if (each.target != kSelf) demand(false, ("a one-sided operation with the dead has not ended: " + waiting).c_str());
}

} // namespace heddle::fuzz
