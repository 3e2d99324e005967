#include "collective/transfers.hpp"

namespace heddle::collective {

void Transfers::send(std::uint32_t to, std::span<const std::byte> data) {
  add(engine_.send({.to = Rank{to}, .tag = tag_, .channel = engine::Channel::collective}, ConstLayout(data)),
      data.size(), false);
}

void Transfers::receive(std::uint32_t from, std::span<std::byte> into) {
  add(engine_.receive({.source = Rank{from}, .tag = tag_}, Layout(into), {}, engine::Channel::collective), into.size(),
      true);
}

void Transfers::add(const Result<Request>& request, std::uint64_t bytes, bool receives) {
  if (!request) {
    note(request.error().code);
    return;
  }
  under_way_.push_back({.request = *request, .bytes = bytes, .receives = receives});
  bytes_under_way_ += bytes;
}

bool Transfers::room() const {
  return under_way_.empty() || (under_way_.size() < kMostMessages && bytes_under_way_ < kMostBytes);
}

std::size_t Transfers::settle() {
  std::size_t ended = 0;
  for (std::size_t i = 0; i < under_way_.size();) {
    const Message message = under_way_[i];
    const auto completion = engine_.take_completion(message.request);
    if (!completion) {
      ++i;
      continue;
    }
    note(completion->code);
    if (message.receives) {
      bytes_ += completion->bytes;
      // Longer than expected is `truncated`; shorter is no less wrong.
      if (completion->code == ErrorCode::ok && completion->bytes != message.bytes) note(ErrorCode::bad_argument);
    }
    bytes_under_way_ -= message.bytes;
    under_way_[i] = under_way_.back();
    under_way_.pop_back();
    ++ended;
  }
  return ended;
}

void Transfers::give_up() {
  for (const Message& message : under_way_)
    if (message.receives) engine_.cancel(message.request);
}

} // namespace heddle::collective
