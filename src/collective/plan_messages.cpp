#include "collective/plan_messages.hpp"

namespace heddle::collective {

void PlanMessages::send(std::uint32_t to, std::span<const std::byte> data) {
  add({.peer = to, .memory = {const_cast<std::byte*>(data.data()), data.size()}}); // a send only reads it
}

void PlanMessages::receive(std::uint32_t from, std::span<std::byte> into) {
  add({.peer = from, .receives = true, .memory = into});
}

void PlanMessages::add(const Message& message) {
  under_way_.push_back(message);
  bytes_under_way_ += message.memory.size();
  begin(under_way_.back());
}

void PlanMessages::begin(Message& message) {
  const auto request =
      message.receives ? engine_.receive({.source = Rank{message.peer}, .tag = tag_}, Layout(message.memory), {},
                                         engine::Channel::collective)
                       : engine_.send({.to = Rank{message.peer}, .tag = tag_, .channel = engine::Channel::collective},
                                      ConstLayout(message.memory.data(), message.memory.size()));
  message.begun = request || request.error().code != ErrorCode::out_of_memory;
  if (request)
    message.request = *request;
  else if (message.begun)
    note(request.error().code);
}

bool PlanMessages::room() const {
  return under_way_.size() < room_.least || (under_way_.size() < room_.messages && bytes_under_way_ < room_.bytes);
}

std::size_t PlanMessages::settle() {
  std::size_t ended = 0;
  for (std::size_t i = 0; i < under_way_.size();) {
    Message& message = under_way_[i];
    if (!message.begun) begin(message);
    const auto completion = message.request.name != 0 ? engine_.take_completion(message.request) : std::nullopt;
    if (!completion && (!message.begun || message.request.name != 0)) {
      ++i;
      continue;
    }
    if (completion) note(completion->code);
    if (completion && message.receives) {
      bytes_ += completion->bytes;
      // Longer than expected is `truncated`; shorter is no less wrong.
      if (completion->code == ErrorCode::ok && completion->bytes != message.memory.size())
        note(ErrorCode::bad_argument);
    }
    bytes_under_way_ -= message.memory.size();
    message = under_way_.back();
    under_way_.pop_back();
    ++ended;
  }
  return ended;
}

void PlanMessages::give_up() {
  for (Message& message : under_way_) {
    message.begun = true;
    if (message.receives) engine_.cancel(message.request);
  }
}

} // namespace heddle::collective
