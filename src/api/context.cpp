// The public calls for messages, and for waiting. Not here: collectives (collective.cpp), one-sided calls, patterns.
#include "api/several.hpp"
#include "api/state.hpp"
#include "api/unknown_channel.hpp"

#include <heddle/heddle.hpp>

#include <unistd.h>

#include <new>
#include <utility>

namespace heddle {

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {
  static_cast<void>(State::moved_from()); // while there may be no memory for it: a move cannot say so
}
Context::~Context() {
  State::abandon_in_child(state_);
}
Context::Context(Context&& other) noexcept
    : state_(std::exchange(other.state_, std::unique_ptr<State>(State::moved_from()))) {}
Context& Context::operator=(Context&& other) noexcept {
  if (this == &other) return *this;
  State::abandon_in_child(state_);
  state_ = std::exchange(other.state_, std::unique_ptr<State>(State::moved_from()));
  return *this;
}

Result<Context> Context::join(const Options& options) {
  return unless_out_of_memory([&]() -> Result<Context> {
    auto state = State::create(options);
    if (!state) return std::unexpected(std::move(state.error()));
    return Context(std::move(*state));
  });
}

void Context::abort(int status) {
  const int passed_on = status >= 1 && status <= 255 ? status : 1;
  if (!state_->must_refuse()) state_->abort(passed_on);
  ::_exit(passed_on);
}

Rank Context::rank() const {
  return state_->has_engine() ? Rank{state_->engine().rank()} : kAnySource;
}
std::uint32_t Context::size() const {
  return state_->has_engine() ? state_->engine().size() : 0;
}

Result<std::string_view> Context::host_name(Rank of) const {
  return unless_out_of_memory([&]() -> Result<std::string_view> {
    if (auto known = state_->check_rank(of); !known) return std::unexpected(std::move(known.error()));
    const job::Hosts* hosts = state_->hosts_with(static_cast<std::uint32_t>(of));
    if (hosts == nullptr) return state_->refuse_in_open_world("the machine of a peer");
    return hosts->name(static_cast<std::uint32_t>(of));
  });
}
Result<std::uint32_t> Context::local_rank(Rank of) const {
  return unless_out_of_memory([&]() -> Result<std::uint32_t> {
    if (auto known = state_->check_rank(of); !known) return std::unexpected(std::move(known.error()));
    const job::Hosts* hosts = state_->hosts_with(static_cast<std::uint32_t>(of));
    if (hosts == nullptr) return state_->refuse_in_open_world("a place among the processes of a machine");
    return hosts->local_rank(static_cast<std::uint32_t>(of));
  });
}

Result<Request> Context::send(Rank to, Tag tag, const ConstLayout& data, SendMode mode, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  return state_->engine().send({.to = to, .tag = tag, .mode = mode, .notify = notify}, data);
}

Result<Request> Context::send(Rank to, Tag tag, const ConstLayout& data, const SendOptions& options) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  if (options.channel > Channel::second) [[unlikely]]
    return unless_out_of_memory([&] { return Result<Request>(api::unknown_channel(options.channel)); });
  return state_->engine().send({.to = to,
                                .tag = tag,
                                .mode = options.mode,
                                .notify = options.notify,
                                .channel = engine::channel_of(options.channel),
                                .data = {.there = options.data.has_value(), .value = options.data.value_or(0)}},
                               data);
}

Result<void> Context::inject(Rank to, Tag tag, ConstMemory data, const Injection& how) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  if (how.channel > Channel::second) [[unlikely]]
    return unless_out_of_memory([&] { return Result<void>(api::unknown_channel(how.channel)); });
  return state_->engine().inject({.to = to,
                                  .tag = tag,
                                  .notify = Notify::errors(how.cookie),
                                  .channel = engine::channel_of(how.channel),
                                  .data = {.there = how.data.has_value(), .value = how.data.value_or(0)}},
                                 data);
}

void Context::relax() {
  if (!state_->must_refuse() && state_->may_block()) state_->relax();
}

Result<Request> Context::receive(const Match& match, const Layout& into, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  return state_->engine().receive(match, into, notify, engine::channel_of(match.channel));
}

Result<std::optional<Envelope>> Context::probe(const Match& match) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  state_->progress();
  return unless_out_of_memory([&] { return state_->engine().probe(match); });
}

Result<std::optional<Message>> Context::matched_probe(const Match& match) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  state_->progress();
  return unless_out_of_memory([&] { return state_->engine().matched_probe(match); });
}

Result<Request> Context::receive_matched(const Message& message, const Layout& into, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  return unless_out_of_memory([&] { return state_->engine().receive_matched(message, into, notify); });
}

bool Context::cancel(Request request) {
  if (state_->must_refuse()) [[unlikely]]
    return false;
  return state_->engine().cancel(request);
}

Result<Request> Context::send_unsolicited(Rank to, Tag label, const ConstLayout& data, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  return state_->engine().send_unsolicited({.to = to, .tag = label, .notify = notify}, data);
}

void Context::release(const UnsolicitedMessage& message) {
  if (state_->must_refuse()) [[unlikely]]
    return;
  state_->engine().release(message.handle);
}

std::size_t Context::poll(std::span<Event> events) {
  if (state_->must_refuse()) [[unlikely]]
    return 0;
  state_->progress();
  return state_->engine().take_events(events);
}

std::size_t Context::wait_events(std::span<Event> events) {
  if (state_->must_refuse()) [[unlikely]]
    return 0;
  if (state_->may_block())
    state_->wait_until([this] { return state_->engine().has_events(); });
  else
    state_->progress_all();
  return state_->engine().take_events(events);
}

std::size_t Context::wait_events(std::span<Event> events, std::chrono::nanoseconds limit) {
  if (state_->must_refuse()) [[unlikely]]
    return 0;
  state_->wait_until([this] { return state_->engine().has_events(); }, limit);
  return state_->engine().take_events(events);
}

Result<int> Context::descriptor() {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  return unless_out_of_memory([&] { return state_->descriptor(); });
}

Result<bool> Context::ready_to_sleep() {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse();
  return unless_out_of_memory([&] { return state_->ready_to_sleep(); });
}

std::optional<Completion> Context::test(Request request) {
  if (state_->must_refuse()) [[unlikely]]
    return State::kRefused;
  state_->progress();
  return state_->engine().take_completion(request);
}

Completion Context::wait(Request request) {
  if (state_->must_refuse()) [[unlikely]]
    return State::kRefused;
  return state_->wait(request);
}

Completion Context::wait(Request request, std::chrono::nanoseconds limit) {
  if (state_->must_refuse()) [[unlikely]]
    return State::kRefused;
  return state_->wait(request, limit);
}

IndexedCompletion Context::wait_any(std::span<const Request> requests) {
  if (state_->must_refuse()) [[unlikely]]
    return {.index = requests.size(), .completion = State::kRefused};
  std::optional<std::size_t> found;
  const auto ended = [&] { return (found = api::first_ended(state_->engine(), requests)).has_value(); };
  if (state_->may_block()) {
    state_->wait_until(ended);
  } else {
    state_->progress_all();
    if (!ended()) return {.index = requests.size(), .completion = {.code = ErrorCode::would_block}};
  }
  return api::take_one(state_->engine(), requests, *found);
}

IndexedCompletion Context::wait_any(std::span<const Request> requests, std::chrono::nanoseconds limit) {
  if (state_->must_refuse()) [[unlikely]]
    return {.index = requests.size(), .completion = State::kRefused};
  std::optional<std::size_t> found;
  if (!state_->wait_until([&] { return (found = api::first_ended(state_->engine(), requests)).has_value(); }, limit))
    return {.index = requests.size(), .completion = {.code = ErrorCode::timed_out}};
  return api::take_one(state_->engine(), requests, *found);
}

ErrorCode Context::wait_all(std::span<const Request> requests) {
  if (state_->must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  ErrorCode first = ErrorCode::ok;
  for (const Request request : requests) {
    std::optional<ErrorCode> code = state_->engine().take_code(request);
    if (!code) code = wait(request).code;
    if (first == ErrorCode::ok) first = *code;
  }
  return first;
}

ErrorCode Context::wait_all(std::span<const Request> requests, std::span<Completion> completions) {
  if (state_->must_refuse() || completions.size() < requests.size()) return ErrorCode::bad_argument;
  ErrorCode first = ErrorCode::ok;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    completions[i] = state_->wait(requests[i]);
    if (first == ErrorCode::ok) first = completions[i].code;
  }
  return first;
}

ErrorCode Context::wait_all(std::span<const Request> requests, std::chrono::nanoseconds limit) {
  if (state_->must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  std::size_t ended = 0;
  if (!state_->wait_until([&] { return api::all_ended(state_->engine(), requests, ended); }, limit))
    return ErrorCode::timed_out;
  return api::take_all(state_->engine(), requests, {});
}

ErrorCode Context::wait_all(std::span<const Request> requests, std::span<Completion> completions,
                            std::chrono::nanoseconds limit) {
  if (state_->must_refuse() || completions.size() < requests.size()) return ErrorCode::bad_argument;
  std::size_t ended = 0;
  if (!state_->wait_until([&] { return api::all_ended(state_->engine(), requests, ended); }, limit))
    return ErrorCode::timed_out;
  return api::take_all(state_->engine(), requests, completions);
}

Result<Protocol> Context::why(Rank to, std::uint64_t bytes) const {
  return unless_out_of_memory([&] { return state_->why(to, bytes); });
}
Result<Protocol> Context::why_alltoall(std::uint64_t block_bytes) const {
  if (!state_->has_engine()) return std::unexpected(state_->refuse().error());
  if (state_->is_open()) return std::unexpected(state_->refuse_in_open_world("an all-to-all").error());
  return unless_out_of_memory([&]() -> Result<Protocol> { return state_->exchanges().why(block_bytes); });
}
std::string Context::waiting_for() const {
  try {
    return state_->has_engine() ? state_->waiting_for() : std::string();
  } catch (const std::bad_alloc&) {
    return "no memory";
  }
}
std::vector<Context::Figure> Context::figures() const {
  try {
    return state_->has_engine() ? state_->engine().figures() : std::vector<Figure>();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

} // namespace heddle
