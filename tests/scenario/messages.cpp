#include "tests/scenario/messages.hpp"

#include <algorithm>

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
  for (const Action& action : scenario.actions[from]) {
    if (action.deed != Deed::send && action.deed != Deed::unsolicited) continue;
    const bool is_unsolicited = action.deed == Deed::unsolicited;
    std::uint64_t& number = (is_unsolicited ? unsolicited : tagged)[action.peer];
    messages.push_back({.from = from,
                        .to = action.peer,
                        .number = number,
                        .tag = is_unsolicited ? number : action.tag,
                        .bytes = action.bytes,
                        .unsolicited = is_unsolicited});
    ++number;
  }
  return messages;
}

std::string text_of(const Match& match) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto hex = [&](std::uint64_t word) {
    std::string text;
    for (; word != 0; word >>= 4U) text.insert(text.begin(), kDigits[word & 0xfU]);
    return "0x" + (text.empty() ? "0" : text);
  };
  std::string text =
      match.source == kAnySource ? "anybody" : "rank " + std::to_string(static_cast<std::uint32_t>(match.source));
  text += ", tag " + hex(static_cast<std::uint64_t>(match.tag));
  return match.mask == kWholeTag ? text : text + " mask " + hex(match.mask);
}

Match match_of(const Action& action) {
  return {.source = action.any != 0 ? kAnySource : Rank{action.peer}, .tag = Tag{action.tag}, .mask = action.mask};
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
        ++expected_[from];
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

std::string Messages::name_of(const Operation& operation) const {
  if (!operation.is_send) return "the receive from " + text_of(operation.match);
  const Sent& sent = outgoing_[static_cast<std::size_t>(operation.message)];
  return std::string("the ") + (sent.unsolicited ? "unsolicited send" : "send") + " of " + std::to_string(sent.bytes) +
         " bytes to rank " + std::to_string(sent.to);
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
                           : role_.context.send(Rank{sent.to}, Tag{sent.tag}, layout, mode, notify_for(action));
  role_.note([&] {
    return std::string("sends ") +
           (sent.unsolicited                ? "unsolicited, "
            : mode == SendMode::synchronous ? "synchronously, "
                                            : "") +
           std::to_string(sent.bytes) + " bytes to rank " + std::to_string(sent.to) +
           (request ? "" : ": refused, " + std::string(to_string(request.error().code)));
  });
  if (!request) {
    role_.demand(role_.may_end(sent.to, request.error().code), [&] { return "a send: " + request.error().message(); });
    return;
  }
  add({.node = role_.rank,
       .is_send = true,
       .by_event = action.event != 0,
       .message = static_cast<int>(index),
       .region = std::move(region),
       .request = *request});
  ++sends_under_way_;
}

void Messages::receive(const Match& match, std::uint64_t room, const Action& how) {
  auto region = std::make_unique<Region>(room, how.form);
  const auto request = role_.context.receive(match, region->layout(), notify_for(how));
  role_.note([&] {
    return "posts a receive from " + text_of(match) + ", room for " + std::to_string(room) +
           (request ? "" : ": refused, " + std::string(to_string(request.error().code)));
  });
  if (!request) {
    role_.demand(
        match.source != kAnySource && role_.may_end(static_cast<std::uint32_t>(match.source), request.error().code),
        [&] { return "a receive: " + request.error().message(); });
    return;
  }
  add({.node = role_.rank,
       .is_send = false,
       .by_event = how.event != 0,
       .region = std::move(region),
       .request = *request,
       .room = room,
       .match = match,
       .order = ++orders_});
  if (match.source == kAnySource && match.mask == 0) ++catch_alls_;
}

void Messages::probe(const Action& action) {
  const auto seen = role_.context.probe(match_of(action));
  role_.demand(seen || role_.may_end(action.peer, seen.error().code), "a probe fails");
  role_.demand(!seen || !*seen || static_cast<std::uint32_t>((*seen)->source) < role_.scenario.peers(),
               "a probe sees an impossible source");
}

void Messages::reserve(const Action& action) {
  const Match match = match_of(action);
  const auto message = role_.context.matched_probe(match);
  role_.demand(message || role_.may_end(action.peer, message.error().code), "a matched probe fails");
  if (!message || !*message) return;
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
       .order = reserved.order});
  if (reserved.match.source == kAnySource && reserved.match.mask == 0) ++catch_alls_; // its end counts one down
}

void Messages::cancel(const Action& action) {
  if (under_way_.empty()) return;
  Operation& operation = operations_[under_way_[action.form % under_way_.size()]];
  if (operation.ended || !role_.context.cancel(operation.request)) return;
  role_.note([&] { return "cancels " + name_of(operation); });
  role_.demand(!operation.is_send && !operation.cancelled, "something was cancelled that could not be");
  operation.cancelled = true;
}

void Messages::release(std::uint64_t choice) {
  if (held_.empty()) return;
  const std::size_t index = choice % held_.size();
  role_.context.release(held_[index]);
  role_.context.release(held_[index]); // ignored
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Messages::ended(std::uint64_t cookie, const Completion& completion) {
  role_.demand(cookie < operations_.size() && operations_[cookie].by_event, "an event carries an unknown cookie");
  end(operations_[cookie], completion);
}

void Messages::arrived(const Event& event) {
  const auto from = static_cast<std::uint32_t>(event.completion.peer);
  for (Sent& sent : incoming_) {
    if (!sent.unsolicited || sent.from != from || Tag{sent.tag} != event.completion.tag) continue;
    role_.note([&] {
      return "gets an unsolicited message of " + std::to_string(event.arrival.bytes) + " bytes from rank " +
             std::to_string(from);
    });
    role_.demand(!sent.arrived, "an unsolicited message arrived twice");
    sent.arrived = true;
    ++got_[from];
    role_.demand(event.arrival.bytes == sent.bytes, "an unsolicited message has another size");
    role_.demand(sent.begins_with({event.arrival.data, event.arrival.bytes}),
                 "a byte of an unsolicited message is wrong");
    if (sent.bytes <= std::min(kSmall, *role_.scenario.setup.options.eager_limit)) {
      role_.demand(sent.number >= last_small_[from], "a small unsolicited message overtook another");
      last_small_[from] = sent.number + 1;
    }
    held_.push_back(event.arrival);
    if (sent.number % 3 != 0) release(sent.number);
    return;
  }
  role_.complain("an unsolicited message arrived that nobody sent");
}

void Messages::collect() {
  std::erase_if(under_way_, [this](std::size_t index) {
    Operation& operation = operations_[index];
    if (!operation.ended && !operation.by_event)
      if (const auto completion = role_.context.test(operation.request)) end(operation, *completion);
    return operation.ended;
  });
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
    const Sent& sent = outgoing_[static_cast<std::size_t>(operation.message)];
    role_.demand(role_.may_end(sent.to, completion.code), [&] {
      return "a send to rank " + std::to_string(sent.to) + " ended with " + tests::text_of(completion.code);
    });
    role_.demand(completion.message_bytes == sent.bytes, "a send ended with another size");
    return;
  }
  if (operation.match.source == kAnySource && operation.match.mask == 0) --catch_alls_;
  if (completion.code == ErrorCode::ok || completion.code == ErrorCode::truncated)
    ++got_[static_cast<std::uint32_t>(completion.peer)];
}

std::uint64_t Messages::missing() const {
  std::uint64_t missing = 0;
  for (std::uint32_t from = 0; from < expected_.size(); ++from)
    if (!role_.scenario.dies(from)) missing += expected_[from] - got_[from];
  return missing;
}

void Messages::ask_for_missing() {
  take_reserved({.deed = Deed::take});
  while (catch_alls_ < kMostCatchAlls && catch_alls_ < missing())
    receive({.mask = 0}, largest_, {.deed = Deed::receive, .form = orders_, .event = orders_ % 2});
}

bool Messages::wind_up() {
  take_reserved({.deed = Deed::take});
  while (const auto left = role_.context.probe({.mask = 0})) {
    if (!*left || role_.scenario.leaves[role_.rank]) break; // whoever leaves early does not receive everything
    role_.demand(role_.scenario.dies(static_cast<std::uint32_t>((*left)->source)), "a message too many");
    receive({.mask = 0}, largest_, {.deed = Deed::receive});
  }
  collect();
  for (const std::size_t index : under_way_) {
    Operation& operation = operations_[index];
    if (operation.ended || operation.cancelled || !role_.context.cancel(operation.request)) continue;
    operation.cancelled = true;
    role_.note([&] { return "takes back " + name_of(operation); });
  }
  while (!held_.empty()) release(0);
  return under_way_.empty();
}

void Messages::check() {
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
  const std::string problem = Judge(std::move(messages), std::move(receives), dead, gone).verdict();
  role_.demand(problem.empty(), [&] { return problem; });
}

} // namespace heddle::tests
