#include "pattern/runner.hpp"

#include "engine/fate.hpp"
#include "engine/layout_cursor.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace heddle::pattern {

Runner::Runner(engine::Engine& engine, Plan& plan, const Compiled& compiled, std::uint32_t serial, std::uint32_t number,
               bool barriers)
    : engine_(engine),
      plan_(plan),
      barriers_(barriers),
      compiled_(compiled),
      meeting_(engine, serial),
      sender_(plan, number),
      give_ups_(engine, plan, compiled.serial) {
  waiting_.reserve(plan.outs.size());
  arrivals_.resize(plan.ins.size());
  std::iota(arrivals_.begin(), arrivals_.end(), 0U);
  std::ranges::stable_sort(arrivals_, {}, [&plan](std::uint32_t in) { return plan.ins[in].partner; });
  for (std::uint32_t i = 0; i < arrivals_.size(); ++i) {
    const std::uint32_t partner = plan.ins[arrivals_[i]].partner;
    if (lanes_.empty() || lanes_.back().partner != partner) lanes_.push_back({.partner = partner, .begin = i});
    lanes_.back().end = i + 1;
  }
  give_ups_.listen(); // last: there may be no memory for the rest
}

void Runner::start() {
  sender_.begin_round(++round_);
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
    if (partner.awaits_start) Sender::put_word(partner, offsetof(Line, started), round_);
  }
  // What can go goes at once; only the rest is remembered.
  waiting_.clear();
  for (std::uint32_t i = 0; i < plan_.outs.size(); ++i)
    if (!sender_.hand_over(plan_.outs[i], i)) waiting_.push_back(i);
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

// --- receiving ---

bool Runner::take(In& in) {
  const std::byte* memory = in.memory.memory.data();
  const std::byte* at = in.way == Delivery::record ? memory + round_ % kSlots * in.slot : memory;
  if (!has_come(at, round_)) return false;
  if (in.lands)
    engine::scatter(in.target, in.offset, at + (in.way == Delivery::record ? kRecordHead : in.slot), in.bytes);
  in.progress = Progress::done;
  Partner& partner = plan_.partners[in.partner];
  if (in.way == Delivery::record && --partner.records_left == 0)
    Sender::put_word(partner, offsetof(Line, consumed), round_);
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
    if (!waiting_.empty() || coming_ != 0 || sender_.under_way() != 0) return false;
    for (const Out& out : plan_.outs) failed_ = failed_ || out.progress != Progress::done;
    for (const In& in : plan_.ins) failed_ = failed_ || in.progress != Progress::done;
    if (give_ups_.listening() && all_have_begun()) give_ups_.stop();
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
    std::erase_if(waiting_, [this](std::uint32_t index) { return sender_.hand_over(plan_.outs[index], index); });
  for (Lane& lane : lanes_) {
    const std::uint32_t before = lane.next;
    while (lane.next != lane.end && take(plan_.ins[arrivals_[lane.next]])) ++lane.next;
    coming_ -= lane.next - before;
  }
}

// What can no longer come or go. Looked for only while something is missing.
void Runner::drop_the_lost() {
  bool lost = give_ups_.hear();
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
  ErrorCode code = engine::graver(ErrorCode::pattern_freed, give_ups_.reason());
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
    if (!engine_.has_failed(partner.rank)) Sender::put_word(partner, offsetof(Line, farewell), farewell.pack());
  if (why == Farewell::freed && barriers_ && !somebody_has_died()) meeting_.begin(Meeting::kWrong);
}

bool Runner::forgotten() {
  if (meeting_.progress() == Meeting::State::running) {
    if (!somebody_has_died()) return false;
    meeting_.abandon();
  }
  give_ups_.hear();
  const bool all = std::ranges::all_of(plan_.partners, [this](const Partner& partner) {
    return farewell_of(partner).why == Farewell::freed || partner.never_began || engine_.has_failed(partner.rank);
  });
  if (all) give_ups_.stop();
  return all;
}

} // namespace heddle::pattern
