#include "pattern/runner.hpp"

#include "engine/fate.hpp"
#include "engine/layout_cursor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

namespace heddle::pattern {

Runner::Runner(engine::Engine& engine, Plan& plan, const Compiled& compiled, std::uint32_t serial, std::uint32_t number,
               bool barriers)
    : engine_(engine),
      plan_(plan),
      number_(std::uint64_t{number} << 32U),
      barriers_(barriers),
      compiled_(compiled),
      meeting_(engine, serial) {
  waiting_.reserve(plan.outs.size());
  arrivals_.resize(plan.ins.size());
  std::iota(arrivals_.begin(), arrivals_.end(), 0U);
  std::ranges::stable_sort(arrivals_, {}, [&plan](std::uint32_t in) { return plan.ins[in].partner; });
  for (std::uint32_t i = 0; i < arrivals_.size(); ++i) {
    const std::uint32_t partner = plan.ins[arrivals_[i]].partner;
    if (lanes_.empty() || lanes_.back().partner != partner) lanes_.push_back({.partner = partner, .begin = i});
    lanes_.back().end = i + 1;
  }
  listen();
}

void Runner::start() {
  ++round_;
  failed_ = false;
  copied_within_ = false;
  for (std::uint32_t i = 0; i < plan_.outs.size(); ++i) plan_.outs[i].progress = Progress::waiting;
  for (std::uint32_t i = 0; i < plan_.ins.size(); ++i) plan_.ins[i].progress = Progress::waiting;
  if (barriers_) {
    phase_ = Phase::gathering;
    meeting_.begin(somebody_is_missing() ? Meeting::wrong_because(reason()) : 0);
    if (meeting_.progress() != Meeting::State::passed) return; // if it has failed, progress says so
  }
  begin_moving();
}

void Runner::begin_moving() {
  phase_ = Phase::moving;
  for (Partner& partner : plan_.partners) {
    partner.records_left = partner.records;
    if (partner.awaits_start) put_word(partner, offsetof(Line, started), round_);
  }
  // What can go goes at once; only the rest is remembered.
  waiting_.clear();
  for (std::uint32_t i = 0; i < plan_.outs.size(); ++i)
    if (!hand_over(plan_.outs[i], i)) waiting_.push_back(i);
  coming_ = static_cast<std::uint32_t>(plan_.ins.size());
  for (Lane& lane : lanes_) lane.next = lane.begin;
  copy_within();
}

void Runner::copy_within() {
  copied_within_ = true;
  for (const Within& copy : plan_.within) {
    const ConstLayout& from = plan_.items[copy.out].source;
    const Layout& to = plan_.items[copy.in].target;
    std::uint64_t done = 0;
    engine::visit_range(from, 0, copy.bytes, [&](const std::byte* part, std::uint64_t bytes) {
      engine::scatter(to, copy.offset + done, part, bytes);
      done += bytes;
    });
  }
}

// --- sending ---

bool Runner::hand_over(Out& out, std::uint32_t index) {
  Partner& partner = plan_.partners[out.partner];
  switch (out.way) {
    case Delivery::record:
      if (!slot_is_free(*partner.line, round_)) return false;
      break;
    case Delivery::data:
      if (!has_started(*partner.line, round_)) return false;
      break;
    case Delivery::put:
      if (farewell_of(partner).why != Farewell::none) return false; // its memory may be used for something else
      break;
    case Delivery::refused: break;
  }
  if (partner.lost) [[unlikely]]
    return false;
  if (!out.staging.empty()) {
    engine::gather(out.source, 0, out.staging.data(), out.bytes);
    out.local = out.staging.data();
  }
  if (out.way == Delivery::record) return hand_over_record(out, index, partner);
  hand_over_data(out, index, partner);
  return true;
}

bool Runner::hand_over_record(Out& out, std::uint32_t index, const Partner& partner) {
  const std::uint64_t at = round_ % kSlots * out.slot;
  if (out.direct.exists()) [[likely]] {
    if (!partner.queue->try_store(out.direct, at,
                                  {.lead = round_, .second = out.bytes, .local = out.local, .bytes = out.bytes}))
      return false;
    out.progress = Progress::done;
    return true;
  }
  const bool taken_at_once = kRecordHead + out.bytes <= partner.queue->capabilities().inline_bytes;
  ir::Command command{.operation = ir::Operation::put,
                      .flags = taken_at_once ? ir::Flags::lead_last : ir::Flags::lead_last | ir::Flags::signalled,
                      .send_engine = out.send_engine,
                      .receive_engine = out.receive_engine,
                      .peer = ir::Peer{partner.rank},
                      .cookie = engine::make_cookie(engine::CookieKind::prepared, number_ | index),
                      .remote = out.place.at(at),
                      .local = const_cast<std::byte*>(out.local),
                      .bytes = out.bytes,
                      .head_bytes = kRecordHead,
                      .path = out.path};
  std::memcpy(command.head.data(), &round_, sizeof round_);
  std::memcpy(command.head.data() + sizeof round_, &out.bytes, sizeof out.bytes);
  if (!partner.queue->try_post(command)) return false;
  if (taken_at_once) {
    out.progress = Progress::done;
  } else {
    out.progress = Progress::under_way;
    out.under_way = 1;
    ++under_way_;
  }
  return true;
}

void Runner::hand_over_data(Out& out, std::uint32_t index, const Partner& partner) {
  const ir::Capabilities& can = partner.queue->capabilities();
  out.progress = Progress::under_way;
  out.under_way = 0;
  ++under_way_;
  std::uint64_t at = 0;
  do {
    const std::uint64_t bytes = std::min(out.bytes - at, can.largest_transfer);
    ++out.under_way;
    ir::Command command{.operation = ir::Operation::put,
                        .flags = ir::Flags::signalled,
                        .send_engine = out.send_engine,
                        .receive_engine = out.receive_engine,
                        .peer = ir::Peer{partner.rank},
                        .cookie = engine::make_cookie(engine::CookieKind::prepared, number_ | index),
                        .remote = out.place.at(at),
                        .local = const_cast<std::byte*>(out.local) + at,
                        .bytes = bytes,
                        .path = out.path};
    partner.queue->post(command);
    at += bytes;
  } while (at < out.bytes);
  out.owes_flag = out.way == Delivery::data && !can.orders_puts;
  if (out.way == Delivery::data && can.orders_puts) raise_flag(out, partner);
}

// By the same engines as the data, so that it stays behind them.
void Runner::raise_flag(const Out& out, const Partner& partner) {
  put_word(*partner.queue,
           {.operation = ir::Operation::put,
            .send_engine = out.send_engine,
            .receive_engine = out.receive_engine,
            .peer = ir::Peer{partner.rank},
            .remote = out.flag,
            .path = out.path},
           out.direct_flag, round_);
}

void Runner::put_word(const Partner& partner, std::uint64_t at, std::uint64_t word) {
  ir::DirectRing direct = partner.direct;
  if (direct.exists()) direct.memory += at;
  put_word(*partner.queue,
           {.operation = ir::Operation::put, .peer = ir::Peer{partner.rank}, .remote = partner.remote_line.at(at)},
           direct, word);
}

void Runner::put_word(engine::ScheduleQueue& queue, const ir::Command& command, const ir::DirectRing& direct,
                      std::uint64_t word) {
  if (direct.exists() && queue.try_store_word(direct, 0, word)) return;
  ir::Command put = command;
  put.head_bytes = sizeof word;
  std::memcpy(put.head.data(), &word, sizeof word);
  queue.post(put);
}

void Runner::command_ended(std::uint32_t index, ir::Status status) {
  if (index >= plan_.outs.size()) return;
  Out& out = plan_.outs[index];
  if (out.under_way == 0) return;
  --out.under_way;
  if (status != ir::Status::ok) out.progress = Progress::failed;
  if (out.under_way != 0) return;
  --under_way_;
  if (out.progress != Progress::under_way) return;
  out.progress = Progress::done;
  if (out.owes_flag) raise_flag(out, plan_.partners[out.partner]);
}

// --- receiving ---

bool Runner::take(In& in) {
  const std::byte* memory = in.memory.memory.data();
  const std::byte* at = in.way == Delivery::record ? memory + round_ % kSlots * in.slot : memory;
  if (!has_come(at, round_)) return false;
  if (in.lands)
    engine::scatter(in.target, in.offset, at + (in.way == Delivery::record ? kRecordHead : in.slot), in.bytes);
  in.progress = Progress::done;
  Partner& partner = plan_.partners[in.partner];
  if (in.way == Delivery::record && --partner.records_left == 0) put_word(partner, offsetof(Line, consumed), round_);
  return true;
}

// --- the round ---

bool Runner::progress() {
  if (phase_ == Phase::gathering) {
    const Meeting::State state = meeting_.progress();
    if (state == Meeting::State::running && !somebody_has_died()) return false;
    if (state == Meeting::State::passed) {
      begin_moving();
    } else { // nobody may be written to
      meeting_.abandon();
      failed_ = true;
      for (Out& out : plan_.outs) out.progress = Progress::failed;
      for (In& in : plan_.ins) in.progress = Progress::failed;
      phase_ = Phase::over;
      return true;
    }
  }
  if (phase_ == Phase::moving) {
    move();
    if (!waiting_.empty() || coming_ != 0) drop_the_lost();
    if (!waiting_.empty() || coming_ != 0 || under_way_ != 0) return false;
    for (const Out& out : plan_.outs) failed_ = failed_ || out.progress != Progress::done;
    for (const In& in : plan_.ins) failed_ = failed_ || in.progress != Progress::done;
    if (listening_ && all_have_begun()) stop_listening();
    if (!barriers_) {
      phase_ = Phase::over;
      return true;
    }
    phase_ = Phase::parting;
    meeting_.begin(failed_ ? Meeting::wrong_because(reason()) : 0);
  }
  if (phase_ == Phase::parting) {
    const Meeting::State state = meeting_.progress();
    if (state == Meeting::State::running && !somebody_has_died()) return false;
    meeting_.abandon();
    failed_ = failed_ || state != Meeting::State::passed;
    phase_ = Phase::over;
  }
  return true;
}

void Runner::move() {
  if (!waiting_.empty())
    std::erase_if(waiting_, [this](std::uint32_t index) { return hand_over(plan_.outs[index], index); });
  for (Lane& lane : lanes_) {
    const std::uint32_t before = lane.next;
    while (lane.next != lane.end && take(plan_.ins[arrivals_[lane.next]])) ++lane.next;
    coming_ -= lane.next - before;
  }
}

// What can no longer come or go. Looked for only while something is missing.
void Runner::drop_the_lost() {
  bool lost = hear_who_gave_up();
  const bool news = engine_.gone() != gone_seen_;
  for (Partner& partner : plan_.partners) {
    if (partner.lost) continue;
    partner.lost = is_missing(partner) || (news && engine_.has_failed(partner.rank));
    lost = lost || partner.lost || farewell_of(partner).why != Farewell::none;
  }
  gone_seen_ = engine_.gone();
  if (!lost) return;
  std::erase_if(waiting_, [this](std::uint32_t index) {
    Out& out = plan_.outs[index];
    const Partner& partner = plan_.partners[out.partner];
    const bool may_go = out.way != Delivery::put || farewell_of(partner).why == Farewell::none;
    if (!partner.lost && may_go) return false;
    out.progress = Progress::failed;
    return true;
  });
  for (Lane& lane : lanes_) {
    if (!plan_.partners[lane.partner].lost) continue;
    coming_ -= lane.end - lane.next;
    for (; lane.next != lane.end; ++lane.next) { // what it wrote before it left counts, in whatever order
      In& in = plan_.ins[arrivals_[lane.next]];
      if (!take(in)) in.progress = Progress::failed;
    }
  }
}

void Runner::listen() {
  listening_ = true; // where there is no memory for it, it is tried again
  const auto request =
      engine_.receive({.source = kAnySource, .tag = tag_of(compiled_.serial, 0, Topic::given_up)},
                      Layout(&given_up_because_, sizeof given_up_because_), {}, engine::Channel::pattern);
  given_up_ = request.value_or(Request{});
}

// After a whole round. Records leave without their receiver: until it has taken some, it may have given up the compile.
bool Runner::all_have_begun() const {
  if (barriers_) return true;
  for (std::uint32_t i = 0; i < plan_.partners.size(); ++i) {
    const Line& line = *plan_.partners[i].line;
    const bool sends = std::ranges::find(lanes_, i, &Lane::partner) != lanes_.end();
    if (!sends && !slot_is_free(line, kSlots + 1) && !has_started(line, 1)) return false;
  }
  return true;
}

void Runner::stop_listening() {
  listening_ = false;
  engine_.cancel(given_up_); // one that has just been matched ends by itself
  wind_up(engine_, given_up_);
}

bool Runner::hear_who_gave_up() {
  bool heard = false;
  if (listening_ && given_up_.name == 0) listen();
  while (given_up_.name != 0 && engine_.ended(given_up_)) {
    const auto completion = engine_.take_completion(given_up_);
    given_up_ = {};
    listening_ = listening_ && completion->code == ErrorCode::ok;
    if (completion->code != ErrorCode::ok) break;
    const auto partner =
        std::ranges::find(plan_.partners, static_cast<std::uint32_t>(completion->peer), &Partner::rank);
    if (partner != plan_.partners.end()) partner->lost = partner->never_began = heard = true;
    heard_ = engine::graver(heard_, std::exchange(given_up_because_, ErrorCode::ok));
    if (listening_) listen();
  }
  return heard;
}

// Who has freed its pattern after a good end of this round has given and taken what belongs to it.
bool Runner::is_missing(const Partner& partner) const {
  const Farewell farewell = farewell_of(partner);
  return farewell.why == Farewell::gave_up || (farewell.why == Farewell::freed && farewell.rounds < round_);
}

bool Runner::somebody_is_missing() const {
  return std::ranges::any_of(plan_.partners, [this](const Partner& partner) {
    const Farewell farewell = farewell_of(partner);
    if (farewell.why == Farewell::freed) return farewell.rounds <= round_; // the next round counts
    return partner.lost || farewell.why == Farewell::gave_up || engine_.has_failed(partner.rank);
  });
}

ErrorCode Runner::reason() const {
  ErrorCode code = engine::graver(ErrorCode::pattern_freed, heard_);
  if (somebody_has_died()) code = engine::graver(code, engine_.gravest_fate());
  for (const Partner& partner : plan_.partners) {
    const Farewell farewell = farewell_of(partner);
    if (farewell.why == Farewell::gave_up) code = engine::graver(code, farewell.code);
    code = engine::graver(code, engine_.fate(partner.rank));
  }
  return barriers_ ? engine::graver(code, Meeting::reason(meeting_.news())) : code;
}

std::vector<Pattern::Item> Runner::incomplete() const {
  std::vector<Pattern::Item> items;
  for (const Out& out : plan_.outs)
    if (out.progress == Progress::failed) items.push_back(out.item);
  for (const In& in : plan_.ins)
    if (in.progress == Progress::failed) items.push_back(in.item);
  if (!copied_within_)
    for (const Within& copy : plan_.within) {
      items.push_back(copy.out);
      if (plan_.items[copy.in].kind == Declared::Kind::receive) items.push_back(copy.in);
    }
  std::ranges::sort(items);
  items.erase(std::ranges::unique(items).begin(), items.end());
  return items;
}

void Runner::say_farewell(Farewell::Why why) {
  const Farewell farewell{
      .why = why, .rounds = failed_ ? 0 : round_, .code = why == Farewell::gave_up ? reason() : ErrorCode::ok};
  for (const Partner& partner : plan_.partners)
    if (!engine_.has_failed(partner.rank)) put_word(partner, offsetof(Line, farewell), farewell.pack());
  if (why == Farewell::freed && barriers_ && !somebody_has_died()) meeting_.begin(Meeting::kWrong);
}

bool Runner::forgotten() {
  if (meeting_.progress() == Meeting::State::running) {
    if (!somebody_has_died()) return false;
    meeting_.abandon();
  }
  hear_who_gave_up();
  const bool all = std::ranges::all_of(plan_.partners, [this](const Partner& partner) {
    return farewell_of(partner).why == Farewell::freed || partner.never_began || engine_.has_failed(partner.rank);
  });
  if (all) stop_listening();
  return all;
}

} // namespace heddle::pattern
