#include "pattern/compiler.hpp"

#include "pattern/axis_order.hpp"
#include "pattern/common_options.hpp"
#include "pattern/planner.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>

namespace heddle::pattern {

namespace {

using Kind = Declared::Kind;

bool goes_out(Kind kind) {
  return kind == Kind::send || kind == Kind::put;
}

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

// Of what a record of a send stands in, at the receiver.
std::uint64_t slot_bytes(std::uint64_t payload) {
  return rounded_up(kRecordHead + payload, ir::kTerminatorAlignment) + 64;
}

Error senseless(std::uint32_t rank) {
  return {.code = ErrorCode::connection_lost,
          .fact = "rank " + std::to_string(rank) + " said something of the pattern that makes no sense",
          .peer = rank};
}

template <typename Content>
void append(base::BackedVector<std::byte>& bytes, const Content& content) {
  const auto* from = reinterpret_cast<const std::byte*>(&content);
  bytes.insert(bytes.end(), from, from + sizeof content);
}
template <typename Content>
Content content_at(const base::BackedVector<std::byte>& bytes, std::size_t at) {
  Content content;
  std::memcpy(&content, bytes.data() + at, sizeof content);
  return content;
}

} // namespace

Compiler::Compiler(engine::Engine& engine, Plan& plan, std::uint32_t serial, const PatternOptions& options)
    : engine_(engine),
      plan_(plan),
      serial_(serial),
      options_(options),
      failures_before_(engine.failures()),
      meeting_(engine, serial),
      agreement_(engine, serial | 0x8000'0000U),
      paired_(plan.items.size(), false) {}

void Compiler::begin() {
  if (engine_.failures() != 0)
    wrong([&] {
      return Error{.code = engine_.gravest_fate(),
                   .fact = "a process of the job has died or lost its connection to this one",
                   .remedy = "compile patterns before, or start a job without it"};
    });
  if (engine_.deaths() != 0) { // all are told of it, and give up likewise
    give_up();
    return;
  }
  pair_up_within();
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item)
    if (goes_out(plan_.items[item].kind) && plan_.items[item].rank != engine_.rank())
      targets_[plan_.items[item].rank].push_back(item);
  await_header();
  for (const auto& [rank, items] : targets_) tell(rank, items);
}

std::uint32_t Compiler::partner_with(std::uint32_t rank) {
  const auto found = std::ranges::find(plan_.partners, rank, &Partner::rank);
  if (found != plan_.partners.end()) return static_cast<std::uint32_t>(found - plan_.partners.begin());
  Partner partner{.rank = rank, .queue = &engine_.queue_to(rank)};
  if (auto memory = partner.queue->translator().allocate(sizeof(Line))) {
    partner.memory = *memory;
    partner.line = new (memory->memory.data()) Line{};
  } else {
    wrong(std::move(memory.error()));
  }
  plan_.partners.push_back(std::move(partner));
  return static_cast<std::uint32_t>(plan_.partners.size() - 1);
}

// --- telling ---

// Sends to itself and puts into its own memory need nobody else.
void Compiler::pair_up_within() {
  for (std::uint32_t out = 0; out < plan_.items.size(); ++out) {
    const Declared& item = plan_.items[out];
    if (!goes_out(item.kind) || item.rank != engine_.rank()) continue;
    const Kind wanted = item.kind == Kind::send ? Kind::receive : Kind::expose;
    Verdict verdict = wanted == Kind::receive ? Verdict::no_receive : Verdict::not_exposed;
    for (std::uint32_t in = 0; in < plan_.items.size() && verdict != Verdict::fine; ++in) {
      const Declared& other = plan_.items[in];
      if (other.kind != wanted || other.tag != item.tag || (wanted == Kind::receive && paired_[in])) continue;
      if (wanted == Kind::receive && other.rank != engine_.rank()) continue;
      const bool fits =
          item.offset <= other.target.bytes() && item.source.bytes() <= other.target.bytes() - item.offset;
      const bool taken = other.target.shape() != Layout::Shape::contiguous && paired_[in];
      verdict = !fits ? (wanted == Kind::receive ? Verdict::too_long : Verdict::beyond_end)
                      : (taken ? Verdict::taken : Verdict::fine);
      if (verdict != Verdict::fine) break;
      paired_[in] = true;
      plan_.within.push_back({.out = out, .in = in, .bytes = item.source.bytes(), .offset = item.offset});
    }
    if (verdict != Verdict::fine) wrong([&] { return refusal(item, verdict); });
  }
}

void Compiler::post(std::uint32_t rank, Topic topic, base::BackedVector<std::byte> bytes, SendMode mode) {
  begin(sent_.emplace_back(Message{.rank = rank,
                                   .topic = topic,
                                   .synchronous = mode == SendMode::synchronous,
                                   .bytes = std::move(bytes),
                                   .request = {}}));
}

void Compiler::begin(Message& message) {
  auto request = engine_.send({.to = Rank{message.rank},
                               .tag = tag_of(serial_, 0, message.topic),
                               .mode = message.synchronous ? SendMode::synchronous : SendMode::standard,
                               .channel = engine::Channel::pattern},
                              ConstLayout(message.bytes.data(), message.bytes.size()));
  message.begun = request || request.error().code != ErrorCode::out_of_memory;
  message.request = request.value_or(Request{});
  if (message.begun && !request) wrong(std::move(request.error()));
}

void Compiler::tell(std::uint32_t rank, const base::BackedVector<std::uint32_t>& items) {
  const Partner& partner = plan_.partners[partner_with(rank)];
  base::BackedVector<std::byte> header;
  append(header, Header{.count = items.size(), .line = partner.memory.place});
  post(rank, Topic::header, std::move(header), SendMode::synchronous);
  for (std::size_t first = 0; first < items.size(); first += kPortion) {
    const auto portion = std::span(items).subspan(first, std::min<std::size_t>(kPortion, items.size() - first));
    base::BackedVector<std::byte> content;
    for (const std::uint32_t index : portion) {
      const Declared& item = plan_.items[index];
      append(content, Want{.tag = item.tag,
                           .offset = item.offset,
                           .bytes = item.source.bytes(),
                           .is_put = item.kind == Kind::put ? 1U : 0U});
    }
    post(rank, Topic::content, std::move(content), SendMode::standard);
    begin(answers_.emplace_back(Incoming{.rank = rank,
                                         .topic = Topic::answer,
                                         .size = sizeof(Header) + portion.size() * sizeof(Answer),
                                         .bytes = {},
                                         .request = {},
                                         .first = first}));
  }
}

void Compiler::begin(Incoming& incoming) {
  try {
    incoming.bytes.resize(incoming.size);
  } catch (const std::bad_alloc&) {
    return;
  }
  auto request = engine_.receive({.source = Rank{incoming.rank}, .tag = tag_of(serial_, 0, incoming.topic)},
                                 Layout(incoming.bytes.data(), incoming.bytes.size()), {}, engine::Channel::pattern);
  incoming.begun = request || request.error().code != ErrorCode::out_of_memory;
  incoming.request = request.value_or(Request{});
  if (incoming.begun && !request) wrong(std::move(request.error()));
}

void Compiler::begin_what_waits() {
  for (Message& message : sent_)
    if (!message.begun) begin(message);
  for (auto* list : {&wants_, &answers_})
    for (Incoming& incoming : *list)
      if (!incoming.begun) begin(incoming);
  if (listening_ && header_.name == 0) await_header();
}

// --- what others want ---

void Compiler::await_header() {
  listening_ = true;
  const auto request = engine_.receive({.source = kAnySource, .tag = tag_of(serial_, 0, Topic::header)},
                                       Layout(&header_in_, sizeof header_in_), {}, engine::Channel::pattern);
  header_ = request.value_or(Request{});
}

void Compiler::take_header() {
  while (header_.name != 0 && engine_.ended(header_)) {
    const auto completion = engine_.take_completion(header_);
    header_ = {};
    listening_ = completion->code == ErrorCode::ok;
    if (!listening_) return;
    const auto rank = static_cast<std::uint32_t>(completion->peer);
    const bool again = std::ranges::find(wants_, rank, &Incoming::rank) != wants_.end();
    if (again || completion->bytes != sizeof header_in_ || header_in_.count > kMostItems) {
      wrong([&] { return senseless(rank); });
      await_header();
      continue;
    }
    plan_.partners[partner_with(rank)].remote_line = header_in_.line;
    await_wants(wants_.emplace_back(
        Incoming{.rank = rank, .topic = Topic::content, .bytes = {}, .request = {}, .left = header_in_.count}));
    await_header();
  }
}

void Compiler::await_wants(Incoming& incoming) {
  const std::uint64_t count = std::min(incoming.left, kPortion);
  incoming.left -= count;
  incoming.size = count * sizeof(Want);
  incoming.request = {};
  incoming.begun = incoming.taken = incoming.left == 0 && count == 0; // who announces none sends nothing
  if (!incoming.taken) begin(incoming);
}

bool Compiler::has_come(const Incoming& incoming) const {
  return !incoming.taken && incoming.request.name != 0 && engine_.ended(incoming.request);
}

// Of one that has come. False: it is not sound.
bool Compiler::take(Incoming& incoming) {
  incoming.taken = true;
  const auto completion = engine_.take_completion(incoming.request);
  if (completion->code == ErrorCode::ok && completion->bytes == incoming.bytes.size()) return true;
  wrong([&] {
    return Error{
        .code = completion->code == ErrorCode::ok ? ErrorCode::connection_lost : completion->code,
        .fact = "rank " + std::to_string(incoming.rank) + " did not say how its part of the pattern is to be done",
        .peer = incoming.rank};
  });
  return false;
}

void Compiler::take_wants() {
  for (Incoming& incoming : wants_) {
    if (!has_come(incoming)) continue;
    base::BackedVector<std::byte> answers;
    answers.reserve(sizeof(Header) + incoming.size / sizeof(Want) *
                                         sizeof(Answer)); // if there is no memory for it, the wants are left for later
    if (take(incoming))
      answer_all(incoming, std::move(answers));
    else
      incoming.left = 0; // what comes after it may be anything
  }
  await_further_wants();
}

void Compiler::answer_all(Incoming& incoming, base::BackedVector<std::byte> answers) {
  const std::size_t count = incoming.size / sizeof(Want);
  const std::uint32_t index = partner_with(incoming.rank);
  Partner& partner = plan_.partners[index];
  append(answers, Header{.count = count, .line = partner.memory.place});
  for (std::size_t i = 0; i < count; ++i)
    append(answers, answer(partner, index, content_at<Want>(incoming.bytes, i * sizeof(Want))));
  post(incoming.rank, Topic::answer, std::move(answers), SendMode::standard);
}

// Of those who have taken the answers to what they wanted before.
void Compiler::await_further_wants() {
  for (Incoming& incoming : wants_) {
    if (!incoming.taken || incoming.left == 0) continue;
    const bool answered = std::ranges::none_of(
        sent_, [&](const Message& message) { return message.rank == incoming.rank && message.topic == Topic::answer; });
    if (answered) await_wants(incoming);
  }
}

Answer Compiler::answer(Partner& partner, std::uint32_t index, const Want& want) {
  if (want.is_put != 0) return answer_put(partner, index, want);
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item) {
    const Declared& declared = plan_.items[item];
    if (declared.kind != Kind::receive || paired_[item] || declared.rank != partner.rank || declared.tag != want.tag)
      continue;
    paired_[item] = true;
    if (want.bytes > declared.target.bytes()) return {.verdict = Verdict::too_long};
    return land(partner, index, {.item = item, .bytes = want.bytes, .target = declared.target}, declared);
  }
  return {.verdict = Verdict::no_receive};
}

Answer Compiler::answer_put(Partner& partner, std::uint32_t index, const Want& want) {
  const auto found = std::ranges::find_if(
      plan_.items, [&](const Declared& item) { return item.kind == Kind::expose && item.tag == want.tag; });
  if (found == plan_.items.end()) return {.verdict = Verdict::not_exposed};
  const Layout& memory = found->target;
  if (want.offset > memory.bytes() || want.bytes > memory.bytes() - want.offset)
    return {.verdict = Verdict::beyond_end};
  const auto item = static_cast<std::uint32_t>(found - plan_.items.begin());
  if (memory.shape() != Layout::Shape::contiguous) {
    if (paired_[item]) return {.verdict = Verdict::taken};
    paired_[item] = true;
    return land(partner, index, {.item = item, .bytes = want.bytes, .offset = want.offset, .target = memory}, *found);
  }
  const auto known = std::ranges::find_if(plan_.exposures, [&](const Plan::Exposure& exposure) {
    return exposure.item == item && exposure.queue == partner.queue;
  });
  if (known != plan_.exposures.end()) return {.way = Delivery::put, .place = known->place.at(want.offset)};
  const auto place = partner.queue->capabilities().reads_any_memory
                         ? partner.queue->translator().expose({memory.data(), memory.bytes()})
                         : Result<ir::RemotePlace>(std::unexpected(Error{}));
  if (!place) return {.verdict = Verdict::unreachable};
  plan_.exposures.push_back({.item = item, .queue = partner.queue, .place = *place});
  return {.way = Delivery::put, .place = place->at(want.offset)};
}

// Records for what the processor copies anyway and for what has no memory in one piece; otherwise straight into place.
Answer Compiler::land(Partner& partner, std::uint32_t index, In in, const Declared& item) {
  const ir::Capabilities& can = partner.queue->capabilities();
  ir::Translator& translator = partner.queue->translator();
  const bool contiguous = item.target.shape() == Layout::Shape::contiguous;
  const bool small = can.processor_copies && in.bytes <= engine_.limits().eager_limit;
  const bool straight = can.reads_any_memory && contiguous && !small && in.bytes > 0;
  in.partner = index;
  in.lands = !straight;
  in.way = !straight && in.bytes + kRecordHead <= can.largest_transfer ? Delivery::record : Delivery::data;
  in.slot = in.way == Delivery::record ? slot_bytes(in.bytes) : 64;
  const std::uint64_t needed = in.way == Delivery::record ? kSlots * in.slot : in.slot + (in.lands ? in.bytes : 0);
  auto memory = translator.allocate(needed);
  if (!memory) return {.verdict = Verdict::out_of_memory};
  in.memory = *memory;
  Answer answer{.way = in.way, .place = memory->place, .flag = memory->place, .slot = in.slot};
  if (in.way == Delivery::record) {
    ++partner.records;
  } else {
    partner.awaits_start = true;
    if (in.lands) {
      answer.place = memory->place.at(in.slot);
    } else {
      const auto place = translator.expose({item.target.data(), in.bytes});
      if (!place) {
        translator.deallocate(in.memory);
        return {.verdict = Verdict::unreachable};
      }
      in.exposed = *place;
      in.is_exposed = true;
      answer.place = *place;
    }
  }
  plan_.ins.push_back(std::move(in));
  return answer;
}

// --- answers ---

void Compiler::take_answers() {
  for (Incoming& incoming : answers_) {
    if (!has_come(incoming) || !take(incoming)) continue;
    Partner& partner = plan_.partners[partner_with(incoming.rank)];
    partner.remote_line = content_at<Header>(incoming.bytes, 0).line;
    const base::BackedVector<std::uint32_t>& items = targets_[incoming.rank];
    const std::size_t count = (incoming.size - sizeof(Header)) / sizeof(Answer);
    for (std::size_t i = 0; i < count; ++i)
      adopt(partner, items[incoming.first + i],
            content_at<Answer>(incoming.bytes, sizeof(Header) + i * sizeof(Answer)));
  }
}

bool Compiler::plausible(const Answer& answer, const Declared& item) const {
  if (answer.way == Delivery::put) return item.kind == Kind::put;
  if (item.kind == Kind::put && !options_.barriers) return false; // its target is not told
  return answer.way == Delivery::data ||
         (answer.way == Delivery::record && answer.slot == slot_bytes(item.source.bytes()));
}

void Compiler::adopt(Partner& partner, std::uint32_t item, const Answer& answer) {
  const Declared& declared = plan_.items[item];
  if (answer.way == Delivery::refused) return wrong([&] { return refusal(declared, answer.verdict); });
  if (!plausible(answer, declared)) return wrong([&] { return senseless(partner.rank); });
  Out& out = plan_.outs.emplace_back();
  out.item = item;
  out.partner = static_cast<std::uint32_t>(&partner - plan_.partners.data());
  out.way = answer.way;
  out.bytes = declared.source.bytes();
  out.source = declared.source;
  if (declared.source.shape() == ConstLayout::Shape::contiguous)
    out.local = declared.source.data();
  else
    try {
      out.staging.resize(out.bytes);
    } catch (const std::bad_alloc&) {
      wrong(engine::Engine::no_memory());
    }
  out.place = answer.place;
  out.flag = answer.flag;
  out.slot = answer.slot;
}

Error Compiler::refusal(const Declared& item, Verdict verdict) const {
  const std::string rank = "rank " + std::to_string(item.rank);
  const std::string tag = std::to_string(item.tag);
  const std::string bytes = std::to_string(item.source.bytes()) + " bytes";
  const auto error = [&](std::string fact, std::string remedy = {}, ErrorCode code = ErrorCode::bad_argument) {
    return Error{.code = code, .fact = std::move(fact), .remedy = std::move(remedy), .peer = item.rank};
  };
  switch (verdict) {
    case Verdict::no_receive: return error(rank + " has no receive for the send of tag " + tag);
    case Verdict::too_long: return error(rank + "'s receive of tag " + tag + " is shorter than the " + bytes + " sent");
    case Verdict::not_exposed: return error(rank + " exposes no memory as area " + tag + " in this pattern");
    case Verdict::beyond_end:
      return error("a put of " + bytes + " at offset " + std::to_string(item.offset) + " ends beyond area " + tag +
                   " of " + rank);
    case Verdict::unreachable:
      return error("the memory of " + rank + " cannot be written to from outside", "use sends and receives",
                   ErrorCode::unreachable);
    case Verdict::out_of_memory:
      return error(rank + " has no memory left for what is sent to it", "raise option ring_memory",
                   ErrorCode::out_of_memory);
    case Verdict::taken:
      return error("area " + tag + " of " + rank + " is in several pieces, and another put writes it already",
                   "expose it in one piece, or put to it once");
    case Verdict::fine: break;
  }
  return senseless(item.rank);
}

void Compiler::check_receives() {
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item) {
    const Declared& declared = plan_.items[item];
    if (declared.kind != Kind::receive || paired_[item]) continue;
    wrong([&] {
      return Error{.code = ErrorCode::bad_argument,
                   .fact = "rank " + std::to_string(declared.rank) + " sends nothing for the receive of tag " +
                           std::to_string(declared.tag),
                   .peer = declared.rank};
    });
  }
}

void Compiler::open_direct_memory() {
  const auto direct = [](const Partner& partner, const ir::RemotePlace& place, std::uint64_t bytes) {
    ir::DirectMemory* memory = partner.queue->facets().direct_memory;
    return memory != nullptr ? memory->direct_ring(ir::Peer{partner.rank}, place, bytes) : ir::DirectRing{};
  };
  for (Partner& partner : plan_.partners) partner.direct = direct(partner, partner.remote_line, sizeof(Line));
  for (Out& out : plan_.outs) {
    const Partner& partner = plan_.partners[out.partner];
    if (out.way == Delivery::record) out.direct = direct(partner, out.place, kSlots * out.slot);
    if (out.way == Delivery::data) out.direct_flag = direct(partner, out.flag, sizeof(std::uint64_t));
  }
}

void Compiler::make_plan() {
  plan_.picture.clear();
  const bool in_order = AxisOrder::from_news(meeting_.news()).is_one();
  try {
    if (auto planned = plan_outs_onto_engines(plan_, options_.algorithm, in_order); !planned)
      wrong(std::move(planned.error()));
  } catch (const std::bad_alloc&) {
    wrong(engine::Engine::no_memory());
  }
}

// --- the whole ---

bool Compiler::progress() {
  if (stage_ == Stage::over) return true;
  if (engine_.deaths() != 0) { // all wait for each other, so none can be missing; and all are told of it
    give_up();
    return true;
  }
  if (engine_.failures() != failures_before_) // of which the others hear from this process
    wrong([&] {
      return Error{.code = ErrorCode::connection_lost,
                   .fact = "a connection to another process was lost while the pattern was compiled",
                   .remedy = "poll for connection_lost events to learn which"};
    });
  begin_what_waits();
  std::erase_if(sent_, [this](Message& message) { return message.begun && wind_up(engine_, message.request); });
  take_header();
  take_wants();
  take_answers();
  if (stage_ == Stage::telling) {
    if (std::ranges::any_of(sent_, &Message::synchronous)) return false;
    meeting_.begin(AxisOrder::seen_in(plan_.items, engine_).news()); // of which lack of memory may make another try
    stage_ = Stage::meeting;
  }
  if (stage_ == Stage::meeting) {
    if (meeting_.progress() == Meeting::State::running) return false;
    engine_.cancel(header_);
    static_cast<void>(engine_.take_completion(header_));
    header_ = {};
    listening_ = false;
    stage_ = Stage::answers;
  }
  if (stage_ == Stage::answers) {
    const auto taken = [](const Incoming& incoming) {
      return (incoming.taken && incoming.left == 0) || (incoming.begun && incoming.request.name == 0);
    };
    if (!std::ranges::all_of(wants_, taken) || !std::ranges::all_of(answers_, taken) || !sent_.empty()) return false;
    check_receives();
    if (!error_) {
      open_direct_memory();
      make_plan();
    }
    agreement_.begin(static_cast<std::uint8_t>(CommonOptions(options_).news() | (error_ ? Meeting::kWrong : 0)));
    stage_ = Stage::agreeing;
  }
  if (agreement_.progress() == Meeting::State::running) return false;
  if (agreement_.state() == Meeting::State::failed)
    wrong([&] {
      return Error{.code = engine_.gravest_fate() != ErrorCode::ok ? engine_.gravest_fate() : ErrorCode::bad_argument,
                   .fact = "the pattern does not fit together at another process, which says why"};
    });
  else if (!CommonOptions::are_one(agreement_.news()))
    wrong([&] {
      return Error{.code = ErrorCode::bad_argument,
                   .fact = "processes have made the pattern with different options, this one " + text_of(options_),
                   .remedy = "give it the same options everywhere"};
    });
  agreed_ = true;
  stage_ = Stage::over;
  return true;
}

void Compiler::give_up() {
  const ErrorCode code = engine_.gravest_fate();
  wrong([&] {
    return Error{.code = code,
                 .fact = "a process has died while the pattern was compiled",
                 .remedy = "poll for " + std::string(to_string(code)) + " events to learn which"};
  });
  std::erase_if(sent_, [](const Message& message) { return !message.begun; });
  // Others may have agreed before the death, and would wait for this process's part.
  if (stage_ == Stage::agreeing)
    for (const Partner& partner : plan_.partners)
      if (!engine_.has_failed(partner.rank))
        post(partner.rank, Topic::given_up, {static_cast<std::byte>(code)}, SendMode::standard);
  meeting_.abandon();
  agreement_.abandon();
  engine_.cancel(header_);
  for (const auto* list : {&wants_, &answers_})
    for (const Incoming& incoming : *list) engine_.cancel(incoming.request);
  stage_ = Stage::over;
}

bool Compiler::wound_up() {
  std::erase_if(sent_, [this](Message& message) {
    if (!message.begun) begin(message);
    return message.begun && wind_up(engine_, message.request);
  });
  bool all = wind_up(engine_, header_) && sent_.empty();
  for (auto* list : {&wants_, &answers_})
    for (Incoming& incoming : *list) all = wind_up(engine_, incoming.request) && all;
  const bool met = meeting_.wound_up();
  return agreement_.wound_up() && met && all;
}

} // namespace heddle::pattern
