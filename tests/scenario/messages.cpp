#include "tests/scenario/messages.hpp"

#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace heddle::tests {

namespace {

constexpr std::uint64_t kMostCatchAlls = 4;
// What is sure to travel in one record, if the eager limit lets it: also where no memory is left for a mirror of the ring.
constexpr std::uint64_t kSmall = 32;

// Messages from one process, in the order it sends them.
std::vector<Sent> messages_from(const Scenario& scenario, std::uint32_t from) {
  std::vector<Sent> messages;
  std::vector<std::uint64_t> tagged(scenario.peers(), 0);
  std::vector<std::uint64_t> unsolicited(scenario.peers(), 0);
  const std::uint64_t unsolicited_memory = scenario.setup.options.unsolicited_memory.value_or(~std::uint64_t{0});
  for (const Action& action : scenario.actions[from]) {
    if (action.deed != Deed::send && action.deed != Deed::unsolicited) continue;
    const bool is_unsolicited = action.deed == Deed::unsolicited;
    std::uint64_t& number = (is_unsolicited ? unsolicited : tagged)[action.peer];
    messages.push_back({.from = from,
                        .to = action.peer,
                        .number = number,
                        .tag = is_unsolicited ? number : action.tag,
                        .bytes = action.bytes,
                        .unsolicited = is_unsolicited,
                        .synchronous = !is_unsolicited && action.mode != 0,
                        .may_fail = is_unsolicited && action.bytes > unsolicited_memory});
    ++number;
  }
  return messages;
}

std::string hex(std::uint64_t word) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (; word != 0; word >>= 4U) text.insert(text.begin(), kDigits[word & 0xfU]);
  return "0x" + (text.empty() ? "0" : text);
}

std::string text_of(const Match& match) {
  std::string text =
      match.source == kAnySource ? "anybody" : "rank " + std::to_string(static_cast<std::uint32_t>(match.source));
  text += ", tag " + hex(static_cast<std::uint64_t>(match.tag));
  return match.mask == kWholeTag ? text : text + " mask " + hex(match.mask);
}

// What is known of a message from its envelope.
Sent sent_of(const Envelope& envelope) {
  return {.from = static_cast<std::uint32_t>(envelope.source),
          .to = 0,
          .number = 0,
          .tag = static_cast<std::uint64_t>(envelope.tag),
          .bytes = envelope.bytes,
          .unsolicited = false};
}

// Every other process is sent to on the second channel.
Channel channel_to(std::uint32_t rank) {
  return rank % 2 == 0 ? Channel::first : Channel::second;
}

// What a tagged message carries beside its tag: half of them something.
std::optional<std::uint64_t> word_of(std::uint32_t from, std::uint64_t tag, std::uint64_t bytes) {
  const std::uint64_t word = Lot::mix(from * 31 + Lot::mix(tag) * 17 + bytes);
  return word % 2 == 0 ? std::optional(word) : std::nullopt;
}

} // namespace

Messages::Messages(Role& role)
    : role_(role),
      outgoing_(messages_from(role.scenario, role.rank)),
      expected_(role.scenario.peers(), 0),
      got_(role.scenario.peers(), 0),
      last_small_(role.scenario.peers(), 0) {
  for (std::uint32_t from = 0; from < role.scenario.peers(); ++from)
    for (const Sent& sent : from == role.rank ? outgoing_ : messages_from(role.scenario, from))
      if (sent.to == role.rank) {
        incoming_.push_back(sent);
        expected_[from] += sent.may_fail ? 0 : 1;
        largest_ = std::max(largest_, sent.bytes);
      }
}

void Messages::act(const Action& action) {
  switch (action.deed) {
    case Deed::send:
    case Deed::unsolicited: return send(action);
    case Deed::receive: return receive(match_of(action), action.bytes, action);
    case Deed::probe: return probe(action);
    case Deed::reserve: return reserve(action);
    case Deed::take: return take_reserved(action);
    case Deed::cancel: return cancel(action);
    case Deed::release: return release(action.form);
    case Deed::look:
    case Deed::pause:
    case Deed::compute:
    case Deed::push:
    case Deed::pull:
    case Deed::mcast:
    case Deed::atomic:
    case Deed::lock:
    case Deed::close:
    case Deed::meet: return;
  }
}

Match Messages::match_of(const Action& action) const {
  return {.source = action.any != 0 ? kAnySource : Rank{action.peer},
          .channel = channel_to(role_.rank),
          .tag = Tag{action.tag},
          .mask = action.mask};
}
Match Messages::anything() const {
  return {.channel = channel_to(role_.rank), .mask = 0};
}

bool Messages::is_small(const Sent& sent) const {
  return sent.bytes <= kSmall && !announced(sent);
}

std::string Messages::name_of(const Operation& operation) const {
  if (!operation.is_send) return "the receive from " + text_of(operation.match);
  const Sent& sent = outgoing_[static_cast<std::size_t>(operation.message)];
  return std::string("the ") + (sent.unsolicited ? "unsolicited send" : "send") + " of " + std::to_string(sent.bytes) +
         " bytes to rank " + std::to_string(sent.to) + ", tag " + hex(sent.tag);
}

void Messages::add(Operation operation) {
  under_way_.push_back(operations_.size());
  operations_.push_back(std::move(operation));
}

void Messages::send(const Action& action) {
  const std::size_t index = next_++;
  const Sent& sent = outgoing_[index];
  auto region = std::make_unique<Region>(sent.bytes, action.form);
  region->write(sent.content());
  const SendMode mode = action.mode != 0 ? SendMode::synchronous : SendMode::standard;
  const Layout layout = region->layout();
  const auto request = sent.unsolicited
                           ? role_.context.send_unsolicited(Rank{sent.to}, Tag{sent.tag}, layout, notify_for(action))
                           : role_.context.send(Rank{sent.to}, Tag{sent.tag}, layout,
                                                SendOptions{.mode = mode,
                                                            .notify = notify_for(action),
                                                            .channel = channel_to(sent.to),
                                                            .data = word_of(sent.from, sent.tag, sent.bytes)});
  role_.note([&] {
    return std::string("sends ") +
           (sent.unsolicited                ? "unsolicited, "
            : mode == SendMode::synchronous ? "synchronously, "
                                            : "") +
           std::to_string(sent.bytes) + " bytes to rank " + std::to_string(sent.to) + ", tag " + hex(sent.tag) +
           (request ? "" : ": refused, " + std::string(to_string(request.error().code)));
  });
  role_.demand_refusal(sent.to, request ? ErrorCode::ok : request.error().code, "a send to");
  if (!request) return;
  std::vector<Witness::Message>& started = role_.witness.messages[sent.to];
  started.push_back({.sent = sent});
  add({.node = role_.rank,
       .is_send = true,
       .by_event = action.event != 0,
       .message = static_cast<int>(index),
       .region = std::move(region),
       .request = *request,
       .witnessed = started.size() - 1});
  ++sends_under_way_;
}

void Messages::receive(const Match& match, std::uint64_t room, const Action& how) {
  auto region = std::make_unique<Region>(room, how.form);
  const auto request = role_.context.receive(match, region->layout(), notify_for(how));
  role_.note([&] {
    return "posts a receive from " + text_of(match) + ", room for " + std::to_string(room) +
           (request ? "" : ": refused, " + std::string(to_string(request.error().code)));
  });
  const bool from_anybody = match.source == kAnySource;
  const auto source = static_cast<std::uint32_t>(match.source);
  if (!request) {
    role_.demand(!from_anybody, [&] { return "a receive: " + request.error().message(); });
    role_.demand_refusal(source, request.error().code, "a receive from");
    role_.demand(!role_.context.probe(match), "a receive is refused though its message is here");
    return;
  }
  std::vector<Witness::Posted>& posted = role_.witness.receives[role_.rank];
  posted.push_back({.match = match});
  add({.node = role_.rank,
       .is_send = false,
       .by_event = how.event != 0,
       .region = std::move(region),
       .request = *request,
       .room = room,
       .match = match,
       .order = ++orders_,
       .after_news = !from_anybody && role_.fates[source] != ErrorCode::ok,
       .witnessed = posted.size() - 1});
  if (match.source == kAnySource && match.mask == 0) ++catch_alls_;
}

// What a probe for anything sees is seen by every probe that accepts it: it stays until it is received.
void Messages::probe(const Action& action) {
  const Match match = match_of(action);
  const auto any = role_.context.probe(anything());
  role_.demand(any.has_value(), "a probe for anything is refused");
  const auto seen = role_.context.probe(match);
  const auto text = [&] { return "a probe from " + text_of(match); };
  if (!seen || (!*seen && match.source != kAnySource))
    role_.demand_refusal(action.peer, seen ? ErrorCode::ok : seen.error().code, "a probe from");
  role_.demand(seen || match.source != kAnySource, [&] { return text() + " is refused"; });
  if (!seen) return;
  if (*any && !role_.scenario.goes(static_cast<std::uint32_t>((*any)->source)))
    role_.demand(*seen || !accepts(match, sent_of(**any)), [&] { return text() + " does not see what is here"; });
  if (!*seen) return;
  ++role_.witness.happened.probes_found;
  role_.demand(accepts(match, sent_of(**seen)), [&] { return text() + " sees what it does not accept"; });
  const auto same = [&](const Sent& sent) {
    return !sent.unsolicited && Rank{sent.from} == (*seen)->source && Tag{sent.tag} == (*seen)->tag &&
           sent.bytes == (*seen)->bytes;
  };
  role_.demand(std::ranges::any_of(incoming_, same), [&] { return text() + " sees a message that nobody sends"; });
  role_.demand((*seen)->data == word_of(static_cast<std::uint32_t>((*seen)->source),
                                        static_cast<std::uint64_t>((*seen)->tag), (*seen)->bytes),
               [&] { return text() + " sees another data word"; });
}

void Messages::reserve(const Action& action) {
  const Match match = match_of(action);
  const auto seen = role_.context.probe(match);
  const auto message = role_.context.matched_probe(match);
  role_.demand(message || match.source != kAnySource, "a matched probe from anybody is refused");
  if (!message || (!*message && match.source != kAnySource))
    role_.demand_refusal(action.peer, message ? ErrorCode::ok : message.error().code, "a matched probe from");
  if (seen && *seen && !role_.scenario.goes(static_cast<std::uint32_t>((*seen)->source)))
    role_.demand(message && *message && (*message)->envelope.source == (*seen)->source &&
                     (*message)->envelope.tag == (*seen)->tag && (*message)->envelope.bytes == (*seen)->bytes,
                 "a matched probe does not reserve what a probe sees");
  if (!message || !*message) return;
  ++role_.witness.happened.reserved;
  matched_.push_back(sent_of((*message)->envelope));
  role_.witness.receives[role_.rank].push_back({.match = match});
  role_.note([&] {
    return "reserves a message of " + std::to_string((*message)->envelope.bytes) + " bytes from rank " +
           std::to_string(static_cast<std::uint32_t>((*message)->envelope.source));
  });
  // The order is that of the reservation, whenever it is received.
  reserved_.push_back({**message, match, ++orders_});
}

void Messages::take_reserved(const Action& action) {
  if (reserved_.empty()) return;
  const std::size_t index = action.form % reserved_.size();
  const Reserved reserved = reserved_[index];
  reserved_.erase(reserved_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::uint64_t room = action.bytes == 0 ? reserved.message.envelope.bytes : action.bytes - 1;
  auto region = std::make_unique<Region>(room, action.form);
  const auto request = role_.context.receive_matched(reserved.message, region->layout(), notify_for(action));
  role_.note([&] { return "receives a reserved message, room for " + std::to_string(room); });
  role_.demand(request.has_value(), "a reserved message cannot be received");
  role_.demand(!role_.context.receive_matched(reserved.message, Layout()), "a reserved message can be received twice");
  add({.node = role_.rank,
       .is_send = false,
       .by_event = action.event != 0,
       .region = std::move(region),
       .request = *request,
       .room = room,
       .match = reserved.match,
       .order = reserved.order,
       .reserved = true});
  if (reserved.match.source == kAnySource && reserved.match.mask == 0) ++catch_alls_; // its end counts one down
}

void Messages::cancel(const Action& action) {
  if (under_way_.empty()) return;
  Operation& operation = operations_[under_way_[action.form % under_way_.size()]];
  if (!operation.ended) take_back(operation, "cancels ");
}

void Messages::take_back(Operation& operation, const char* how) {
  const bool must = certainly_unmatched(operation);
  if (!role_.context.cancel(operation.request)) {
    role_.demand(!must, [&] { return name_of(operation) + " cannot be cancelled"; });
    return;
  }
  role_.note([&] { return how + name_of(operation); });
  role_.demand(!operation.is_send && !operation.cancelled, "something was cancelled that could not be");
  operation.cancelled = true;
  ++role_.witness.happened.cancelled;
  role_.witness.receives[role_.rank][operation.witnessed].stands = false;
}

// Posted, and every message that it could have got has gone to others. Not for sources that end it at any time.
bool Messages::certainly_unmatched(const Operation& operation) const {
  if (operation.is_send || operation.ended || operation.cancelled || operation.reserved) return false;
  if (operation.match.source != kAnySource && role_.scenario.goes(static_cast<std::uint32_t>(operation.match.source)))
    return false;
  const auto acceptable = [&](const Sent& sent) { return !sent.unsolicited && accepts(operation.match, sent); };
  return std::ranges::count_if(role_.witness.messages[role_.rank], acceptable, &Witness::Message::sent) ==
         std::ranges::count_if(matched_, acceptable);
}

void Messages::release(std::uint64_t choice) {
  if (held_.empty()) return;
  const std::size_t index = choice % held_.size();
  role_.context.release(held_[index]);
  role_.context.release(held_[index]); // ignored
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Messages::ended(const Event& event) {
  role_.demand(event.cookie < operations_.size() && operations_[event.cookie].by_event,
               "an event carries an unknown cookie");
  Operation& operation = operations_[event.cookie];
  const bool unsolicited = operation.is_send && outgoing_[static_cast<std::size_t>(operation.message)].unsolicited;
  role_.demand(event.kind == (unsolicited         ? Event::Kind::unsolicited_left
                              : operation.is_send ? Event::Kind::sent
                                                  : Event::Kind::received),
               [&] { return "an event of another kind tells of " + name_of(operation); });
  end(operation, event.completion);
}

void Messages::arrived(const Event& event) {
  const auto from = static_cast<std::uint32_t>(event.completion.peer);
  for (Sent& sent : incoming_) {
    if (!sent.unsolicited || sent.from != from || Tag{sent.tag} != event.completion.tag) continue;
    role_.note([&] {
      return "gets an unsolicited message of " + std::to_string(event.unsolicited.bytes) + " bytes from rank " +
             std::to_string(from);
    });
    role_.demand(!sent.arrived, "an unsolicited message arrived twice");
    sent.arrived = true;
    got_[from] += sent.may_fail ? 0 : 1;
    role_.demand(event.unsolicited.bytes == sent.bytes, "an unsolicited message has another size");
    role_.demand(sent.begins_with({event.unsolicited.data, event.unsolicited.bytes}),
                 "a byte of an unsolicited message is wrong");
    if (is_small(sent)) {
      role_.demand(sent.number >= last_small_[from], "a small unsolicited message overtook another");
      last_small_[from] = sent.number + 1;
    }
    held_.push_back(event.unsolicited);
    // Where memory for them is short it is held until it is, and something is waited for.
    const bool is_short = role_.scenario.setup.options.unsolicited_memory.has_value();
    if (is_short ? releases_all_ : sent.number % 3 != 0) release(sent.number);
    return;
  }
  role_.complain("an unsolicited message arrived that nobody sent");
}

// By each of the ways there are, in turn.
void Messages::collect() {
  using std::chrono::nanoseconds;
  std::vector<Operation*> waited_for;
  std::vector<Request> requests;
  for (const std::size_t index : under_way_) {
    Operation& operation = operations_[index];
    if (operation.ended || operation.by_event) continue;
    waited_for.push_back(&operation);
    requests.push_back(operation.request);
  }
  std::vector<std::optional<Completion>> ended(requests.size());
  switch (++collected_ % 3) {
    case 0:
      for (std::size_t i = 0; i < requests.size(); ++i) ended[i] = role_.context.test(requests[i]);
      break;
    case 1:
      for (;;) {
        const IndexedCompletion any = role_.context.wait_any(requests, nanoseconds(0));
        if (any.index == requests.size()) break;
        ended[any.index] = any.completion;
        requests[any.index] = {};
      }
      break;
    default: // all, or each
      std::vector<Completion> completions(requests.size());
      const bool all = role_.context.wait_all(requests, completions, nanoseconds(0)) != ErrorCode::timed_out;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const Completion one = all ? completions[i] : role_.context.wait(requests[i], nanoseconds(0));
        if (one.code != ErrorCode::timed_out) ended[i] = one;
      }
  }
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (ended[i]) end(*waited_for[i], *ended[i]);
  std::erase_if(under_way_, [this](std::size_t index) { return operations_[index].ended; });
}

void Messages::end(Operation& operation, const Completion& completion) {
  role_.note([&] {
    return "sees " + name_of(operation) + " end: " + std::string(to_string(completion.code)) +
           (operation.is_send ? ""
                              : ", " + std::to_string(completion.message_bytes) + " bytes of rank " +
                                    std::to_string(static_cast<std::uint32_t>(completion.peer)));
  });
  role_.demand(!operation.ended, "an operation ended twice");
  role_.demand(completion.code != ErrorCode::stale_request, "a request under way is called stale");
  operation.end(completion);
  if (operation.is_send) {
    --sends_under_way_;
    operation.region.reset();
    end_send(operation);
  } else {
    if (operation.match.source == kAnySource && operation.match.mask == 0) --catch_alls_;
    end_receive(operation);
  }
}

void Messages::end_send(const Operation& operation) {
  const Completion& completion = operation.completion;
  const Sent& sent = outgoing_[static_cast<std::size_t>(operation.message)];
  const bool too_large = sent.may_fail && completion.code == ErrorCode::out_of_memory;
  role_.witness.happened.unsolicited_refused += too_large ? 1U : 0U;
  role_.demand(role_.may_end(sent.to, completion.code) || too_large,
               [&] { return name_of(operation) + " ended with " + tests::text_of(completion.code); });
  role_.demand(
      completion.message_bytes == sent.bytes && completion.peer == Rank{sent.to} && completion.tag == Tag{sent.tag},
      [&] { return name_of(operation) + " ended as that of another message"; });
  const bool ok = completion.code == ErrorCode::ok;
  // Of one that was announced, the receiver fetches no more than it has room for.
  const bool all = ok && ((is_small(sent) && !sent.synchronous) || sent.unsolicited);
  role_.demand(all ? completion.bytes == sent.bytes : completion.bytes <= (ok ? sent.bytes : 0),
               [&] { return name_of(operation) + " ended with " + std::to_string(completion.bytes) + " bytes"; });
  if (!ok) return;
  Witness::Message& witnessed = role_.witness.messages[sent.to][operation.witnessed];
  witnessed.ended = true;
  witnessed.ended_at = role_.witness.now();
  if (sent.unsolicited || !(sent.synchronous || announced(sent))) return;
  // Those before it with the same tag are matched before it.
  ++role_.witness.happened.synchronous_ended;
  const auto before = std::count_if(outgoing_.begin(), outgoing_.begin() + operation.message, [&](const Sent& earlier) {
    return !earlier.unsolicited && earlier.to == sent.to && earlier.tag == sent.tag;
  });
  role_.demand(role_.witness.posted_for(sent) > static_cast<std::size_t>(before),
               [&] { return name_of(operation) + " ended before a receive could match it"; });
}

void Messages::end_receive(const Operation& operation) {
  const Completion& completion = operation.completion;
  const auto peer = static_cast<std::uint32_t>(completion.peer);
  const auto text = [&] { return name_of(operation) + " ended with " + tests::text_of(completion.code); };
  if (completion.code == ErrorCode::ok || completion.code == ErrorCode::truncated) {
    role_.demand(peer < got_.size(), [&] { return name_of(operation) + " got a message of nobody"; });
    ++got_[peer];
    const auto word = word_of(peer, static_cast<std::uint64_t>(completion.tag), completion.message_bytes);
    role_.demand(completion.has_data == word.has_value() && (!word || completion.data == *word),
                 [&] { return text() + " and another data word"; });
    role_.witness.happened.truncated += completion.code == ErrorCode::truncated ? 1U : 0U;
    if (!operation.reserved)
      matched_.push_back(sent_of({.source = completion.peer, .tag = completion.tag, .bytes = 0}));
    return;
  }
  role_.demand(!operation.after_news, [&] { return text() + ", though its message was here"; });
  if (completion.code == ErrorCode::cancelled) return;
  ++role_.witness.happened.receives_ended_with_peer;
  const bool from_anybody = operation.match.source == kAnySource;
  role_.demand(peer < got_.size() && role_.ends_with(peer, completion.code) &&
                   (from_anybody || completion.peer == operation.match.source),
               text);
  // One from anybody stays, unless a message has matched it that was not all there.
  const auto begun = [&](const Sent& sent) {
    return sent.from == peer && Tag{sent.tag} == completion.tag && sent.bytes == completion.message_bytes;
  };
  role_.demand(!from_anybody || operation.reserved || std::ranges::any_of(incoming_, begun),
               [&] { return text() + ", and no message of that peer had matched it"; });
}

// It ends with its source, and must not be taken back before.
bool Messages::waits_for_end(const Operation& operation) const {
  return !operation.is_send && !operation.ended && !operation.cancelled && operation.match.source != kAnySource &&
         role_.scenario.goes(static_cast<std::uint32_t>(operation.match.source)) &&
         Rank{role_.rank} != operation.match.source && !role_.scenario.leaves[role_.rank];
}

bool Messages::own_ended() const {
  return sends_under_way_ == 0 && reserved_.empty() && std::ranges::none_of(under_way_, [&](std::size_t index) {
           const Operation& operation = operations_[index];
           return waits_for_end(operation) && role_.scenario.dies(static_cast<std::uint32_t>(operation.match.source));
         });
}

std::uint64_t Messages::missing() const {
  std::uint64_t missing = 0;
  for (std::uint32_t from = 0; from < expected_.size(); ++from)
    if (!role_.scenario.dies(from)) missing += expected_[from] - got_[from];
  return missing;
}

void Messages::ask_for_missing() {
  // Who holds what has arrived and waits for more may wait for itself.
  releases_all_ = role_.scenario.setup.options.unsolicited_memory.has_value();
  while (releases_all_ && !held_.empty()) release(0);
  take_reserved({.deed = Deed::take});
  while (catch_alls_ < kMostCatchAlls && catch_alls_ < missing())
    receive(anything(), largest_, {.deed = Deed::receive, .form = orders_, .event = orders_ % 2});
}

bool Messages::wind_up() {
  const auto stray = role_.context.probe({.channel = channel_to(role_.rank + 1), .mask = 0});
  role_.demand(stray && !*stray, "a message came on a channel that nobody sends to");
  take_reserved({.deed = Deed::take});
  while (const auto left = role_.context.probe(anything())) {
    if (!*left || role_.scenario.leaves[role_.rank]) break; // whoever leaves early does not receive everything
    role_.demand(role_.scenario.dies(static_cast<std::uint32_t>((*left)->source)), "a message too many");
    receive(anything(), largest_, {.deed = Deed::receive});
  }
  collect();
  for (const std::size_t index : under_way_) {
    Operation& operation = operations_[index];
    if (!operation.ended && !operation.cancelled && !waits_for_end(operation)) take_back(operation, "takes back ");
  }
  while (!held_.empty()) release(0);
  return under_way_.empty();
}

// What one that died had sent long before: its network has carried it over, so that it lay here whole, read or not. How long that
// takes depends on all that was to be sent before: a send has ended when the network has taken it over, maybe in many small pieces.
void Messages::find_the_sure() {
  if (!role_.scenario.setup.cables.empty()) return;
  const bool rhinet = role_.scenario.setup.fabric.starts_with("rhinet");
  const auto long_enough = [&](std::uint32_t rank) -> simulation::Time {
    std::uint64_t bytes = 0;
    for (const Action& action : role_.scenario.actions[rank])
      bytes += action.bytes * (action.deed == Deed::mcast ? role_.scenario.peers() : 1);
    return std::chrono::microseconds(rhinet ? 1000 : 100) + std::chrono::nanoseconds(bytes * (rhinet ? 400 : 40));
  };
  for (const Witness::Message& message : role_.witness.messages[role_.rank])
    for (const auto& death : role_.scenario.setup.deaths) {
      const bool from_it = death.rank == Rank{message.sent.from} && message.ended;
      if (!from_it || message.ended_at + long_enough(static_cast<std::uint32_t>(death.rank)) > death.at) continue;
      const auto sent = std::ranges::find_if(incoming_, [&](const Sent& each) {
        return each.from == message.sent.from && each.number == message.sent.number &&
               each.unsolicited == message.sent.unsolicited;
      });
      sent->sure = true;
      ++role_.witness.happened.sure_of_the_dead;
    }
}

void Messages::check() {
  find_the_sure();
  std::vector<Sent*> messages;
  std::vector<const Operation*> receives;
  for (Sent& sent : incoming_) messages.push_back(&sent);
  for (const Operation& operation : operations_)
    if (!operation.is_send) receives.push_back(&operation);
  std::vector<bool> dead(role_.scenario.peers(), false);
  std::vector<bool> gone(role_.scenario.peers(), false);
  for (std::uint32_t rank = 0; rank < role_.scenario.peers(); ++rank) {
    dead[rank] = role_.scenario.dies(rank);
    gone[rank] = role_.scenario.goes(rank);
  }
  const std::string problem =
      Judge(std::move(messages), std::move(receives), dead, gone).verdict(role_.scenario.leaves[role_.rank]);
  role_.demand(problem.empty(), [&] { return problem; });
}

} // namespace heddle::tests
