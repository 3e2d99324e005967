#include "tests/traffic/traffic.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace heddle::tests {

namespace {

constexpr std::uint64_t kMostUnderWay = 200;
constexpr std::uint64_t kMostCatchAlls = 4;

// Messages from one process, in the order it sends them.
std::vector<Sent> messages_from(std::uint32_t from, std::uint32_t size, const TrafficPlan& plan) {
  Dice dice(plan.seed * 1'000'003 + from);
  std::vector<Sent> messages;
  std::vector<std::uint64_t> tagged(size, 0);
  std::vector<std::uint64_t> unsolicited(size, 0);
  for (std::uint64_t i = 0; i < plan.messages; ++i) {
    const std::uint32_t to = dice.rank(size);
    const bool is_unsolicited = dice.chance(15);
    std::uint64_t& number = (is_unsolicited ? unsolicited : tagged)[to];
    const std::uint64_t tag = dice.tag();
    messages.push_back({.from = from,
                        .to = to,
                        .number = number,
                        .tag = is_unsolicited ? number : tag,
                        .bytes = dice.bytes(plan.kill ? 8 : 0, plan.largest),
                        .unsolicited = is_unsolicited});
    ++number;
  }
  return messages;
}

} // namespace

Traffic::Traffic(Context& context, const TrafficPlan& plan)
    : context_(context),
      plan_(plan),
      dice_(plan.seed * 7919 + static_cast<std::uint32_t>(context.rank())),
      rank_(static_cast<std::uint32_t>(context.rank())),
      size_(context.size()),
      expected_(size_, 0),
      got_(size_, 0) {
  outgoing_ = messages_from(rank_, size_, plan);
  for (std::uint32_t from = 0; from < size_; ++from)
    for (const Sent& sent : messages_from(from, size_, plan))
      if (sent.to == rank_) {
        incoming_.push_back(sent);
        ++expected_[from];
      }
}

void Traffic::demand(bool condition, const std::string& what) const {
  if (!condition)
    throw std::runtime_error("rank " + std::to_string(rank_) + ": " + what + "\n" + context_.waiting_for());
}

std::uint64_t Traffic::figure(std::string_view name) const {
  for (const auto& figure : context_.figures())
    if (figure.name == name) return figure.value;
  throw std::runtime_error("no figure is called " + std::string(name));
}

bool Traffic::step() {
  if (cleaning_) return step_of_clean_up();
  if (finished()) {
    cleaning_ = true;
    collect();
    abandon_the_rest();
    return true;
  }
  act();
  if (dice_.chance(20)) collect();
  if (all_sent()) ask_for_missing();
  return true;
}

std::uint64_t Traffic::missing() const {
  std::uint64_t missing = 0;
  for (std::uint32_t from = 0; from < size_; ++from)
    if (static_cast<int>(from) != dead_) missing += expected_[from] - got_[from];
  return missing;
}

bool Traffic::finished() const {
  if (plan_.kill && dead_ < 0) return false;
  return all_sent() && sends_under_way_ == 0 && reserved_.empty() && missing() == 0;
}

void Traffic::act() {
  const std::uint64_t choice = dice_.below(100);
  if (choice < 40)
    send_next();
  else if (choice < 80)
    post_random();
  else if (choice < 85)
    probe();
  else if (choice < 90)
    matched_probe();
  else if (choice < 93)
    receive_reserved();
  else if (choice < 96)
    cancel_one();
  else if (choice < 98)
    release_one();
  else
    wait_for_something();
}

Operation& Traffic::add(Operation operation) {
  under_way_.push_back(operations_.size());
  return operations_.emplace_back(std::move(operation));
}

void Traffic::send_next() {
  if (all_sent() || under_way_.size() >= kMostUnderWay) return;
  const std::size_t index = next_++;
  const Sent& sent = outgoing_[index];
  auto region = std::make_unique<Region>(sent.bytes, dice_.source());
  region->write(sent.content());
  const bool by_event = dice_.chance(50);
  const SendMode mode = dice_.chance(25) ? SendMode::synchronous : SendMode::standard;
  const Layout layout = region->layout();
  const auto request = sent.unsolicited
                           ? context_.send_unsolicited(Rank{sent.to}, Tag{sent.tag}, layout, notify_for(by_event))
                           : context_.send(Rank{sent.to}, Tag{sent.tag}, layout, mode, notify_for(by_event));
  if (!request) {
    demand(plan_.kill && ended_with_its_peer(request.error().code), "a send: " + request.error().message());
    return;
  }
  add({.node = rank_,
       .is_send = true,
       .by_event = by_event,
       .message = static_cast<int>(index),
       .region = std::move(region),
       .request = *request});
  ++sends_under_way_;
}

void Traffic::post_random() {
  const Match match = dice_.match(size_); // before the size: compilers differ in which argument they see to first
  post(match, random_bytes());
}

void Traffic::post(const Match& match, std::uint64_t room) {
  if (under_way_.size() >= kMostUnderWay) return;
  auto region = std::make_unique<Region>(room, dice_.source());
  const bool by_event = dice_.chance(50);
  const auto request = context_.receive(match, region->layout(), notify_for(by_event));
  if (!request) {
    demand(plan_.kill && ended_with_its_peer(request.error().code), "a receive: " + request.error().message());
    return;
  }
  add({.node = rank_,
       .is_send = false,
       .by_event = by_event,
       .region = std::move(region),
       .request = *request,
       .room = room,
       .match = match,
       .order = ++orders_});
  if (match.source == kAnySource && match.mask == 0) ++catch_alls_;
}

void Traffic::probe() {
  const auto seen = context_.probe(dice_.match(size_));
  demand(!seen || !*seen || static_cast<std::uint32_t>((*seen)->source) < size_, "a probe sees an impossible source");
}

void Traffic::matched_probe() {
  const Match match = dice_.match(size_);
  const auto message = context_.matched_probe(match);
  if (!message || !*message) return;
  // The order is that of the reservation, whenever it is received.
  reserved_.push_back({**message, match, ++orders_});
}

void Traffic::receive_reserved() {
  if (reserved_.empty()) return;
  const std::size_t index = dice_.below(reserved_.size());
  const Reserved reserved = reserved_[index];
  reserved_.erase(reserved_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::uint64_t room = dice_.chance(80) ? reserved.message.envelope.bytes : random_bytes();
  auto region = std::make_unique<Region>(room, dice_.source());
  const bool by_event = dice_.chance(50);
  const auto request = context_.receive_matched(reserved.message, region->layout(), notify_for(by_event));
  demand(request.has_value(), "a reserved message cannot be received");
  demand(!context_.receive_matched(reserved.message, Layout()), "a reserved message can be received twice");
  add({.node = rank_,
       .is_send = false,
       .by_event = by_event,
       .region = std::move(region),
       .request = *request,
       .room = room,
       .match = reserved.match,
       .order = reserved.order});
}

void Traffic::cancel_one() {
  if (under_way_.empty()) return;
  Operation& operation = operations_[under_way_[dice_.below(under_way_.size())]];
  if (context_.cancel(operation.request)) {
    demand(!operation.is_send && !operation.cancelled, "something was cancelled that could not be");
    operation.cancelled = true;
  }
}

void Traffic::wait_for_something() {
  const std::chrono::microseconds limit(dice_.below(300));
  if (!under_way_.empty() && dice_.chance(50)) {
    Operation& operation = operations_[under_way_[dice_.below(under_way_.size())]];
    if (!operation.by_event && !operation.ended) { // an ended one stays in the list until the next collect
      const Completion completion = context_.wait(operation.request, limit);
      if (completion.code != ErrorCode::timed_out) end(operation, completion);
      return;
    }
  }
  std::array<Event, 8> events;
  const std::size_t count = context_.wait_events(events, limit);
  for (std::size_t i = 0; i < count; ++i) take(events[i]);
}

void Traffic::collect() {
  std::array<Event, 16> events;
  while (const std::size_t count = context_.poll(events))
    for (std::size_t i = 0; i < count; ++i) take(events[i]);
  std::erase_if(under_way_, [this](std::size_t index) {
    Operation& operation = operations_[index];
    if (!operation.ended && !operation.by_event)
      if (const auto completion = context_.test(operation.request)) end(operation, *completion);
    return operation.ended;
  });
}

void Traffic::take(const Event& event) {
  if (event.kind == Event::Kind::peer_failed) {
    demand(plan_.kill && dead_ < 0,
           "rank " + std::to_string(static_cast<std::uint32_t>(event.completion.peer)) + " is said to have failed");
    dead_ = static_cast<int>(event.completion.peer);
    if (plan_.told_of_death) plan_.told_of_death(dead_);
  } else if (event.kind == Event::Kind::peer_left) {
    demand(plan_.kill, "one has left before the others were done with it");
  } else if (event.kind == Event::Kind::unsolicited_arrived) {
    arrived(event);
  } else {
    demand(event.kind != Event::Kind::connection_lost, "a connection is said to be lost");
    demand(event.cookie < operations_.size(), "an event carries an unknown cookie");
    end(operations_[event.cookie], event.completion);
  }
}

void Traffic::arrived(const Event& event) {
  for (Sent& sent : incoming_) {
    if (!sent.unsolicited || Rank{sent.from} != event.completion.peer || Tag{sent.tag} != event.completion.tag)
      continue;
    demand(!sent.arrived, "an unsolicited message arrived twice");
    sent.arrived = true;
    ++got_[sent.from];
    demand(event.unsolicited.bytes == sent.bytes, "an unsolicited message has another size");
    demand(sent.begins_with({event.unsolicited.data, event.unsolicited.bytes}),
           "a byte of an unsolicited message is wrong");
    held_.push_back(event.unsolicited);
    if (dice_.chance(70)) release_one();
    return;
  }
  demand(false, "an unsolicited message arrived that nobody sent");
}

void Traffic::release_one() {
  if (held_.empty()) return;
  const std::size_t index = dice_.below(held_.size());
  context_.release(held_[index]);
  context_.release(held_[index]); // ignored
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Traffic::end(Operation& operation, const Completion& completion) {
  demand(!operation.ended, "an operation ended twice");
  demand(completion.code != ErrorCode::stale_request, "a request under way is called stale");
  operation.end(completion);
  if (operation.is_send) {
    --sends_under_way_;
    operation.region.reset();
    const Sent& sent = outgoing_[static_cast<std::size_t>(operation.message)];
    demand(completion.code == ErrorCode::ok || ended_with_its_peer(completion.code),
           "a send ended with " + std::string(to_string(completion.code)));
    demand(completion.message_bytes == sent.bytes, "a send ended with another size");
    return;
  }
  // A reserved message counts here, too, though it was never counted up: the kept runs depend on it.
  if (operation.match.source == kAnySource && operation.match.mask == 0) --catch_alls_;
  if (completion.code == ErrorCode::ok || completion.code == ErrorCode::truncated)
    ++got_[static_cast<std::uint32_t>(completion.peer)];
}

// Everything is sent: the rest comes in through receives for anything, whatever the random ones leave.
void Traffic::ask_for_missing() {
  collect();
  receive_reserved();
  if (under_way_.size() >= kMostUnderWay) cancel_one();
  if (catch_alls_ < kMostCatchAlls && catch_alls_ < missing())
    post({.mask = 0}, dice_.chance(60) ? plan_.largest : random_bytes());
  if (!finished() && dice_.chance(30)) wait_for_something();
}

// Of a dead process more may have arrived than its share of what is missing.
bool Traffic::step_of_clean_up() {
  for (std::uint64_t left = figure("messages not received"); left > 0; --left) {
    demand(plan_.kill, std::to_string(left) + " messages too many");
    post({.mask = 0}, plan_.largest);
  }
  collect();
  abandon_the_rest();
  while (!held_.empty()) release_one();
  // What the library itself still fetches of an unsolicited message, whose sender has died, ends with its last command.
  if (!under_way_.empty() || (plan_.kill && figure("operations under way") > 0)) {
    wait_for_something();
    return true;
  }
  check();
  if (plan_.kill) check_figures();
  return false;
}

void Traffic::abandon_the_rest() {
  for (const std::size_t index : under_way_) {
    Operation& operation = operations_[index];
    if (operation.ended || operation.cancelled) continue;
    if (context_.cancel(operation.request)) operation.cancelled = true;
  }
}

void Traffic::check() {
  for (const Operation& operation : operations_) {
    if (!operation.is_send || operation.completion.code == ErrorCode::ok) continue;
    demand(static_cast<int>(outgoing_[static_cast<std::size_t>(operation.message)].to) == dead_,
           "a send to a living process failed");
  }
  std::vector<Sent*> messages;
  std::vector<const Operation*> receives;
  for (Sent& sent : incoming_) messages.push_back(&sent);
  for (const Operation& operation : operations_)
    if (!operation.is_send) receives.push_back(&operation);
  std::vector<bool> dead(size_, false);
  if (dead_ >= 0) dead[static_cast<std::size_t>(dead_)] = true;
  const std::string problem = Judge(std::move(messages), std::move(receives), dead, dead).verdict();
  demand(problem.empty(), problem);
}

void Traffic::check_figures() const {
  for (const std::string_view name : {"operations under way", "receives posted", "messages not received"})
    demand(figure(name) == 0, std::string(name) + ": " + std::to_string(figure(name)));
  // The news of a death that a barrier brings may be here already.
  if (!plan_.kill) demand(figure("bytes of unexpected messages") == 0, "bytes of messages are left");
  demand(figure("ring memory bytes") <= figure("ring memory limit bytes"), "ring memory is exceeded");
}

} // namespace heddle::tests
