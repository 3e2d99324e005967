#include "pattern/mail.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace heddle::pattern {

void Mail::post(std::uint32_t rank, Topic topic, base::BackedVector<std::byte> bytes, SendMode mode) {
  begin(sent_.emplace_back(Outgoing{.rank = rank,
                                    .topic = topic,
                                    .synchronous = mode == SendMode::synchronous,
                                    .bytes = std::move(bytes),
                                    .request = {}}));
}

void Mail::begin(Outgoing& message) {
  auto request = engine_.send({.to = Rank{message.rank},
                               .tag = tag_of(serial_, 0, message.topic),
                               .mode = message.synchronous ? SendMode::synchronous : SendMode::standard,
                               .channel = engine::Channel::pattern},
                              ConstLayout(message.bytes.data(), message.bytes.size()));
  message.begun = request || request.error().code != ErrorCode::out_of_memory;
  message.request = request.value_or(Request{});
  if (message.begun && !request) error_.note(std::move(request.error()));
}

void Mail::begin(Incoming& incoming) {
  try {
    incoming.bytes.resize(incoming.size);
  } catch (const std::bad_alloc&) {
    return;
  }
  auto request = engine_.receive({.source = Rank{incoming.rank}, .tag = tag_of(serial_, 0, incoming.topic)},
                                 Layout(incoming.bytes.data(), incoming.bytes.size()), {}, engine::Channel::pattern);
  incoming.begun = request || request.error().code != ErrorCode::out_of_memory;
  incoming.request = request.value_or(Request{});
  if (incoming.begun && !request) error_.note(std::move(request.error()));
}

void Mail::begin_what_waits() {
  for (Outgoing& message : sent_)
    if (!message.begun) begin(message);
  for (auto* list : {&wants, &answers})
    for (Incoming& incoming : *list)
      if (!incoming.begun) begin(incoming);
  if (listening_ && header_.name == 0) listen();
}

void Mail::listen() {
  listening_ = true;
  const auto request = engine_.receive({.source = kAnySource, .tag = tag_of(serial_, 0, Topic::header)},
                                       Layout(&header_in_, sizeof header_in_), {}, engine::Channel::pattern);
  header_ = request.value_or(Request{});
}

void Mail::take_sent() {
  std::erase_if(sent_, [this](Outgoing& message) { return message.begun && wind_up(engine_, message.request); });
}

std::optional<Mail::Heard> Mail::hear() {
  if (header_.name == 0 || !engine_.ended(header_)) return std::nullopt;
  const auto completion = engine_.take_completion(header_);
  header_ = {};
  listening_ = completion->code == ErrorCode::ok;
  if (!listening_) return std::nullopt;
  Heard heard{.rank = static_cast<std::uint32_t>(completion->peer), .header = {}};
  if (completion->bytes == sizeof header_in_) heard.header = header_in_;
  listen();
  return heard;
}

void Mail::stop_listening() {
  engine_.cancel(header_);
  static_cast<void>(engine_.take_completion(header_));
  header_ = {};
  listening_ = false;
}

bool Mail::has_come(const Incoming& incoming) const {
  return !incoming.taken && incoming.request.name != 0 && engine_.ended(incoming.request);
}

bool Mail::take(Incoming& incoming) {
  incoming.taken = true;
  const auto completion = engine_.take_completion(incoming.request);
  if (completion->code == ErrorCode::ok && completion->bytes == incoming.bytes.size()) return true;
  error_.note([&] {
    return Error{.code = completion->code == ErrorCode::ok ? ErrorCode::connection_lost : completion->code,
                 .fact = "rank " + std::to_string(incoming.rank) + " did not send its part of the pattern",
                 .peer = incoming.rank};
  });
  return false;
}

bool Mail::is_telling() const {
  return std::ranges::any_of(sent_, &Outgoing::synchronous);
}

bool Mail::answers_have_left(std::uint32_t to) const {
  return std::ranges::none_of(
      sent_, [to](const Outgoing& message) { return message.rank == to && message.topic == Topic::answer; });
}

void Mail::forget_unbegun() {
  std::erase_if(sent_, [](const Outgoing& message) { return !message.begun; });
}

void Mail::cancel() {
  engine_.cancel(header_);
  for (const auto* list : {&wants, &answers})
    for (const Incoming& incoming : *list) engine_.cancel(incoming.request);
}

bool Mail::wound_up() {
  std::erase_if(sent_, [this](Outgoing& message) {
    if (!message.begun) begin(message);
    return message.begun && wind_up(engine_, message.request);
  });
  bool all = wind_up(engine_, header_) && sent_.empty();
  for (auto* list : {&wants, &answers})
    for (Incoming& incoming : *list) all = wind_up(engine_, incoming.request) && all;
  return all;
}

} // namespace heddle::pattern
