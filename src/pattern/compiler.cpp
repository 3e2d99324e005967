#include "pattern/compiler.hpp"

#include "engine/fate.hpp"

#include "pattern/axis_order.hpp"
#include "pattern/common_options.hpp"
#include "pattern/outs.hpp"
#include "pattern/planner.hpp"
#include "pattern/refusals.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>

namespace heddle::pattern {

namespace {

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
      pairing_(engine, plan, error_),
      mail_(engine, serial, error_) {}

void Compiler::begin() {
  if (engine::gravity(engine_.gravest_fate()) > engine::gravity(ErrorCode::peer_left))
    error_.note([&] {
      return Error{.code = engine_.gravest_fate(),
                   .fact = "a process of the job has died or lost its connection to this one",
                   .remedy = "compile patterns earlier, or start a job without it"};
    });
  if (engine_.deaths() != 0) { // all are told of it, and give up likewise
    give_up();
    return;
  }
  pairing_.pair_up_within();
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item)
    if (goes_out(plan_.items[item].kind) && plan_.items[item].rank != engine_.rank())
      targets_[plan_.items[item].rank].push_back(item);
  mail_.listen();
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
    error_.note(std::move(memory.error()));
  }
  plan_.partners.push_back(std::move(partner));
  return static_cast<std::uint32_t>(plan_.partners.size() - 1);
}

// --- telling ---

void Compiler::tell(std::uint32_t rank, const base::BackedVector<std::uint32_t>& items) {
  const Partner& partner = plan_.partners[partner_with(rank)];
  base::BackedVector<std::byte> header;
  append(header, Header{.count = items.size(), .line = partner.memory.place});
  mail_.post(rank, Topic::header, std::move(header), SendMode::synchronous);
  for (std::size_t first = 0; first < items.size(); first += kPortion) {
    const auto portion = std::span(items).subspan(first, std::min<std::size_t>(kPortion, items.size() - first));
    base::BackedVector<std::byte> content;
    for (const std::uint32_t index : portion) {
      const Declared& item = plan_.items[index];
      append(content, Want{.tag = item.tag,
                           .offset = item.offset,
                           .bytes = item.source.bytes(),
                           .is_put = item.kind == Declared::Kind::put ? 1U : 0U});
    }
    mail_.post(rank, Topic::content, std::move(content), SendMode::standard);
    mail_.begin(mail_.answers.emplace_back(Incoming{.rank = rank,
                                                    .topic = Topic::answer,
                                                    .size = sizeof(Header) + portion.size() * sizeof(Answer),
                                                    .bytes = {},
                                                    .request = {},
                                                    .first = first}));
  }
}

// --- what others want ---

void Compiler::take_header() {
  while (const auto heard = mail_.hear()) {
    const bool again = std::ranges::find(mail_.wants, heard->rank, &Incoming::rank) != mail_.wants.end();
    if (again || !heard->header || heard->header->count > kMostItems) {
      error_.note([&] { return malformed(heard->rank); });
      continue;
    }
    plan_.partners[partner_with(heard->rank)].remote_line = heard->header->line;
    await_wants(mail_.wants.emplace_back(Incoming{
        .rank = heard->rank, .topic = Topic::content, .bytes = {}, .request = {}, .left = heard->header->count}));
  }
}

void Compiler::await_wants(Incoming& incoming) {
  const std::uint64_t count = std::min(incoming.left, kPortion);
  incoming.left -= count;
  incoming.size = count * sizeof(Want);
  incoming.request = {};
  incoming.begun = incoming.taken = incoming.left == 0 && count == 0; // who announces none sends nothing
  if (!incoming.taken) mail_.begin(incoming);
}

void Compiler::take_wants() {
  for (Incoming& incoming : mail_.wants) {
    if (!mail_.has_come(incoming)) continue;
    base::BackedVector<std::byte> answers;
    answers.reserve(sizeof(Header) + incoming.size / sizeof(Want) *
                                         sizeof(Answer)); // if there is no memory for it, the wants are left for later
    if (mail_.take(incoming))
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
    append(answers, pairing_.answer(partner, index, content_at<Want>(incoming.bytes, i * sizeof(Want))));
  mail_.post(incoming.rank, Topic::answer, std::move(answers), SendMode::standard);
}

// Of those who have taken the answers to what they wanted before.
void Compiler::await_further_wants() {
  for (Incoming& incoming : mail_.wants) {
    if (!incoming.taken || incoming.left == 0) continue;
    if (mail_.answers_have_left(incoming.rank)) await_wants(incoming);
  }
}

// --- answers ---

void Compiler::take_answers() {
  for (Incoming& incoming : mail_.answers) {
    if (!mail_.has_come(incoming) || !mail_.take(incoming)) continue;
    Partner& partner = plan_.partners[partner_with(incoming.rank)];
    partner.remote_line = content_at<Header>(incoming.bytes, 0).line;
    const base::BackedVector<std::uint32_t>& items = targets_[incoming.rank];
    const std::size_t count = (incoming.size - sizeof(Header)) / sizeof(Answer);
    for (std::size_t i = 0; i < count; ++i)
      adopt(plan_, partner, items[incoming.first + i],
            content_at<Answer>(incoming.bytes, sizeof(Header) + i * sizeof(Answer)), options_.barriers, error_);
  }
}

void Compiler::make_plan() {
  plan_.picture.clear();
  const bool in_order = AxisOrder::from_news(meeting_.news()).is_one();
  try {
    if (auto planned = plan_outs_onto_engines(plan_, options_.algorithm, in_order); !planned)
      error_.note(std::move(planned.error()));
  } catch (const std::bad_alloc&) {
    error_.note(engine::Engine::no_memory());
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
    error_.note([&] {
      return Error{.code = ErrorCode::connection_lost,
                   .fact = "a connection to another process was lost while the pattern was compiled",
                   .remedy = "poll for connection_lost events to learn which"};
    });
  mail_.begin_what_waits();
  mail_.take_sent();
  take_header();
  take_wants();
  take_answers();
  if (stage_ == Stage::telling) {
    if (mail_.is_telling()) return false;
    meeting_.begin(AxisOrder::seen_in(plan_.items, engine_).news()); // of which lack of memory may make another try
    stage_ = Stage::meeting;
  }
  if (stage_ == Stage::meeting) {
    if (meeting_.progress() == Meeting::State::running) return false;
    mail_.stop_listening();
    stage_ = Stage::answers;
  }
  if (stage_ == Stage::answers) {
    const auto taken = [](const Incoming& incoming) {
      return (incoming.taken && incoming.left == 0) || (incoming.begun && incoming.request.name == 0);
    };
    if (!std::ranges::all_of(mail_.wants, taken) || !std::ranges::all_of(mail_.answers, taken) || !mail_.all_sent())
      return false;
    pairing_.check_receives();
    if (!error_.get()) {
      open_direct_memory(plan_);
      make_plan();
    }
    agreement_.begin(static_cast<std::uint8_t>(CommonOptions(options_).news() | (error_.get() ? Meeting::kWrong : 0)));
    stage_ = Stage::agreeing;
  }
  if (agreement_.progress() == Meeting::State::running) return false;
  if (agreement_.state() == Meeting::State::failed)
    error_.note([&] {
      return Error{.code = engine_.gravest_fate() != ErrorCode::ok ? engine_.gravest_fate() : ErrorCode::bad_argument,
                   .fact = "another process found that the pattern does not fit together, and says why"};
    });
  else if (!CommonOptions::are_one(agreement_.news()))
    error_.note([&] {
      return Error{.code = ErrorCode::bad_argument,
                   .fact = "processes created the pattern with different options, this one " + text_of(options_),
                   .remedy = "give it the same options everywhere"};
    });
  agreed_ = true;
  stage_ = Stage::over;
  return true;
}

void Compiler::give_up() {
  const ErrorCode code = engine_.gravest_fate();
  error_.note([&] {
    return Error{.code = code,
                 .fact = "a process has died while the pattern was compiled",
                 .remedy = "poll for " + std::string(to_string(code)) + " events to learn which"};
  });
  mail_.forget_unbegun();
  // Others may have agreed before the death, and would wait for this process's part.
  if (stage_ == Stage::agreeing)
    for (const Partner& partner : plan_.partners)
      if (!engine_.has_failed(partner.rank))
        mail_.post(partner.rank, Topic::given_up, {static_cast<std::byte>(code)}, SendMode::standard);
  meeting_.abandon();
  agreement_.abandon();
  mail_.cancel();
  stage_ = Stage::over;
}

bool Compiler::wound_up() {
  const bool all = mail_.wound_up();
  const bool met = meeting_.wound_up();
  return agreement_.wound_up() && met && all;
}

} // namespace heddle::pattern
