#include "pattern/patterns.hpp"

#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "pattern/wire.hpp"
#include "schedule/algorithms.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::pattern {

namespace {

std::string what_became_of_it(ErrorCode code) {
  if (code == ErrorCode::peer_failed) return "has died";
  if (code == ErrorCode::peer_left) return "has left the job";
  return code == ErrorCode::connection_lost ? "has lost its connection to another" : "has freed it";
}

} // namespace

// --- one ---

Result<Pattern::Item> PlannedPattern::declare(Declared item) try {
  if (stage_ != Stage::building)
    return refuse("the pattern was changed after it was compiled",
                  "declare all requests before, or make another pattern");
  if (item.rank >= owner_.engine_.size())
    return refuse("rank " + std::to_string(item.rank) + " is outside the job of " +
                      std::to_string(owner_.engine_.size()) + " processes",
                  "use a rank from 0 to " + std::to_string(owner_.engine_.size() - 1));
  if (plan_.items.size() == kMostItems)
    return refuse("a pattern has at most " + std::to_string(kMostItems) + " requests per process",
                  "split it into several patterns");
  if (!item.source.usable() || !item.target.usable()) return std::unexpected(engine::Engine::unusable_layout());
  if (item.kind == Declared::Kind::expose)
    if (auto sound = check_exposure(item); !sound) return std::unexpected(std::move(sound.error()));
  plan_.items.push_back(std::move(item));
  return static_cast<Pattern::Item>(plan_.items.size() - 1);
} catch (const std::bad_alloc&) {
  return std::unexpected(engine::Engine::no_memory());
}

Result<void> PlannedPattern::check_exposure(const Declared& item) const {
  const std::string area = "area " + std::to_string(item.tag);
  const auto in_one_piece = [](const Layout& layout) { return layout.shape() == Layout::Shape::contiguous; };
  if (!in_one_piece(item.target) && !options_.barriers) // with them, its start says when it may be written
    return refuse("exposed memory must be contiguous, " + area + " is not", "use barriers, or sends and receives");
  for (const Declared& other : plan_.items) {
    if (other.kind != Declared::Kind::expose) continue;
    if (other.tag == item.tag) return refuse("the pattern exposes " + area + " twice", "use another tag");
    const bool same = in_one_piece(item.target) && in_one_piece(other.target) &&
                      other.target.data() == item.target.data() && other.target.bytes() == item.target.bytes();
    if (same && item.target.bytes() > 0)
      return refuse("the memory of " + area + " is exposed as area " + std::to_string(other.tag) + " already",
                    "have puts name that one");
  }
  return {};
}

Result<Request> PlannedPattern::compile(Notify notify) {
  if (stage_ == Stage::leaving || stage_ == Stage::gone) return refuse("the pattern is compiled after it was freed");
  if (stage_ != Stage::building) return refuse("the pattern is compiled twice");
  if (!base::Reserve::may_begin()) return std::unexpected(engine::Engine::no_memory());
  // Whatever fails for lack of memory does so before anything has happened.
  compiler_.emplace(owner_.engine_, plan_, owner_.serial_to_come(), options_);
  try {
    request_ = owner_.engine_.begin_composite(notify, engine::OperationKind::pattern);
  } catch (const std::bad_alloc&) {
    compiler_.reset();
    throw;
  }
  // Both are drawn here: compiles begin in the same order everywhere, but end in any.
  owner_.next_serial();
  round_serial_ = owner_.next_serial();
  error_.reset();
  stage_ = Stage::compiling;
  compiler_->begin();
  owner_.make_busy(*this);
  return request_;
}

Result<Request> PlannedPattern::start(Notify notify) {
  switch (stage_) {
    case Stage::ready: break;
    case Stage::building:
    case Stage::compiling: return refuse("the pattern must be compiled before it is started");
    case Stage::running: return refuse("the pattern is started again before it has ended", "wait for it first");
    case Stage::broken:
      return std::unexpected(
          error_.value_or(Error{.code = ErrorCode::pattern_freed, .fact = "the pattern has failed"}));
    case Stage::leaving:
    case Stage::gone: return refuse("the pattern is started after it was freed");
  }
  if (!runner_->sound()) {
    const ErrorCode code = runner_->reason();
    break_off({.code = code,
               .fact = "a process of the pattern " + what_became_of_it(code),
               .remedy = "make a pattern without it"});
    return std::unexpected(*error_);
  }
  if (!base::Reserve::may_begin()) return std::unexpected(engine::Engine::no_memory());
  const Request request = owner_.engine_.begin_composite(notify, engine::OperationKind::pattern);
  request_ = request;
  error_.reset();
  incomplete_.clear();
  stage_ = Stage::running;
  runner_->start();
  owner_.make_busy(*this);
  return request;
}

bool PlannedPattern::progress() {
  switch (stage_) {
    case Stage::compiling:
      if (!compiler_->progress()) return false;
      end_compile();
      break;
    case Stage::running:
      if (!runner_->progress()) return false;
      end_round();
      break;
    case Stage::leaving:
      if (!runner_->forgotten()) return false;
      give_memory_back();
      stage_ = Stage::gone;
      break;
    case Stage::building:
    case Stage::ready:
    case Stage::broken:
    case Stage::gone: break;
  }
  if (compiler_ && compiler_->gave_up()) {
    owner_.swallow(compiler_->serial());
    owner_.swallow(round_serial_); // others may have agreed before the death, and start it
  }
  if (runner_)
    if (const auto serial = runner_->abandoned_serial()) owner_.swallow(*serial);
  if (stage_ == Stage::leaving) return false; // it was freed as it ended
  return (!compiler_ || compiler_->wound_up()) && (!runner_ || runner_->wound_up());
}

void PlannedPattern::end_compile() {
  if (compiler_->error()) {
    error_ = compiler_->error();
    stage_ = Stage::broken;
    if (compiler_->agreed()) { // it stands nowhere, so nobody will write here
      give_memory_back();
      compiler_.reset();
    }
  } else {
    runner_.emplace(owner_.engine_, plan_,
                    Runner::Compiled{.serial = compiler_->serial(), .failures_before = compiler_->failures_before()},
                    round_serial_, number_, options_.barriers);
    stage_ = Stage::ready;
    compiler_.reset();
  }
  owner_.engine_.finish_composite(request_, error_ ? error_->code : ErrorCode::ok);
  if (abandoned_) static_cast<void>(free());
}

void PlannedPattern::end_round() {
  stage_ = Stage::ready;
  if (runner_->failed()) {
    incomplete_ = runner_->incomplete();
    const ErrorCode code = runner_->reason();
    const std::string all = std::to_string(plan_.items.size());
    if (incomplete_.empty())
      break_off({.code = code,
                 .fact = "a process of the pattern " + what_became_of_it(code) + " before its closing barrier; all " +
                         all + " requests of this one had completed",
                 .remedy = "make a pattern without it"});
    else
      break_off({.code = code,
                 .fact = std::to_string(incomplete_.size()) + " of " + all +
                         " requests of the pattern did not complete: a process of it " + what_became_of_it(code),
                 .remedy = "incomplete() says which"});
  }
  owner_.engine_.finish_composite(request_, error_ ? error_->code : ErrorCode::ok);
  if (abandoned_) static_cast<void>(free());
}

// Who fails tells its partners, so that none waits for what will not come.
void PlannedPattern::break_off(Error error) {
  error_ = std::move(error);
  stage_ = Stage::broken;
  runner_->say_farewell(Farewell::gave_up);
  withdraw(); // the program may use its memory for something else now: what is still under way is refused
}

Result<void> PlannedPattern::free() {
  if (stage_ == Stage::running || stage_ == Stage::compiling)
    return refuse("the pattern is freed while it is running", "wait for it first");
  if (stage_ == Stage::leaving || stage_ == Stage::gone) return refuse("the pattern is freed twice");
  if (!runner_) { // a process died during compile: what those who did not notice might write to stays until the end
    stage_ = Stage::gone;
    return {};
  }
  runner_->say_farewell(Farewell::freed);
  stage_ = Stage::leaving;
  owner_.make_busy(*this);
  return {};
}

void PlannedPattern::abandon() {
  abandoned_ = true;
  if (!running()) static_cast<void>(free());
}

void PlannedPattern::withdraw() {
  for (In& in : plan_.ins) {
    if (in.is_exposed) plan_.partners[in.partner].queue->translator().withdraw(in.exposed);
    in.is_exposed = false;
  }
  for (const Plan::Exposure& exposure : plan_.exposures) exposure.queue->translator().withdraw(exposure.place);
  plan_.exposures.clear();
}

void PlannedPattern::give_memory_back() {
  for (const Partner& partner : plan_.partners)
    if (partner.line != nullptr) partner.queue->translator().deallocate(partner.memory);
  for (const In& in : plan_.ins) plan_.partners[in.partner].queue->translator().deallocate(in.memory);
  withdraw();
  plan_ = {};
}

// --- all ---

Patterns::Patterns(engine::Engine& engine) : engine_(engine) {
  engine::Handlers& handlers = engine_.handlers();
  handlers.set(engine::CookieKind::prepared,
               engine::command_row(*this, [](Patterns& self, engine::Connection*, const ir::Event& event) {
                 self.command_ended(engine::cookie_number(event.cookie), event.status);
                 return true;
               }));
  handlers.add_end_row(engine::end_row(*this, [](Patterns& self, engine::Connection& connection, engine::PeerEnd end) {
    self.forget_memory_of(connection.rank);
    if (end.how == engine::End::died) self.peer_died();
  }));
}

// The network is about to let go of it: what is still written there goes by commands, which end with what has become of the peer.
void Patterns::forget_memory_of(std::uint32_t rank) {
  for (const auto& pattern : all_) {
    if (pattern == nullptr) continue;
    Plan& plan = pattern->plan_;
    for (Partner& partner : plan.partners)
      if (partner.rank == rank) partner.direct = {};
    for (Out& out : plan.outs)
      if (out.partner < plan.partners.size() && plan.partners[out.partner].rank == rank)
        out.direct = out.direct_flag = {};
  }
}

Patterns::~Patterns() {
  engine_.handlers().remove(this);
}

Result<PlannedPattern*> Patterns::create(const PatternOptions& options) {
  const auto names = schedule::algorithm_names();
  if (std::ranges::find(names, options.algorithm) == names.end())
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "no scheduling algorithm is called '" + options.algorithm +
                                         "', did you mean " + std::string(base::nearest(options.algorithm, names)) +
                                         "?"});
  // A place of one that is gone, and whom nobody holds.
  auto place = std::ranges::find_if(all_, [this](const auto& one) {
    return one == nullptr || (one->abandoned_ && one->stage_ == PlannedPattern::Stage::gone &&
                              one->compiler_ == std::nullopt && std::ranges::find(busy_, one.get()) == busy_.end());
  });
  if (place == all_.end()) place = all_.insert(all_.end(), nullptr);
  *place = std::make_unique<PlannedPattern>(*this, options, static_cast<std::uint32_t>(place - all_.begin()));
  return place->get();
}

void Patterns::command_ended(std::uint64_t number, ir::Status status) {
  const std::uint64_t which = number >> 32U;
  if (which >= all_.size() || all_[which] == nullptr || !all_[which]->runner_) return;
  all_[which]->runner_->command_ended(static_cast<std::uint32_t>(number), status);
}

std::size_t Patterns::progress_all() {
  std::size_t ended = 0;
  for (Swallow& each : swallows_) each.swallower.swallow();
  for (std::size_t i = 0; i < busy_.size();) {
    PlannedPattern& one = *busy_[i];
    if (!one.progress()) {
      ++i;
      continue;
    }
    ++ended;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  return ended;
}

void Patterns::peer_died() {
  for (const auto& one : all_)
    if (one != nullptr && one->runner_) make_busy(*one);
}

void Patterns::swallow(std::uint32_t serial) {
  constexpr std::uint64_t kOfSerial = std::uint64_t{0x7fff'ffff} << 32U; // the top bit tells its meetings apart
  if (std::ranges::find(swallows_, serial, &Swallow::serial) == swallows_.end())
    swallows_.push_back(
        {.serial = serial,
         .swallower = {engine_, engine::Channel::pattern, Tag{std::uint64_t{serial} << 32U}, kOfSerial}});
}

void Patterns::make_busy(PlannedPattern& one) {
  if (std::ranges::find(busy_, &one) == busy_.end()) busy_.push_back(&one);
}

} // namespace heddle::pattern
