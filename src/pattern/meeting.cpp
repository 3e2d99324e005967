#include "pattern/meeting.hpp"

namespace heddle::pattern {

void Meeting::begin(std::uint8_t news) {
  ++number_;
  round_ = 0;
  news_ = news;
  state_ = State::running;
  begin_round();
}

void Meeting::begin_round() {
  const std::uint32_t size = engine_.size();
  const std::uint32_t distance = std::uint32_t{1} << round_;
  if (distance >= size) {
    state_ = (news_ & kWrong) != 0 ? State::failed : State::passed;
    return;
  }
  news_out_ = news_;
  to_send_ = to_receive_ = true;
  begin_messages();
}

void Meeting::begin_messages() {
  const std::uint32_t size = engine_.size();
  const std::uint32_t distance = std::uint32_t{1} << round_;
  const Tag tag = tag_of(serial_, number_, Topic::meeting, round_);
  const auto begun = [this](const Result<Request>& result, Request& request) {
    request = result.value_or(Request{});
    if (!result && result.error().code == ErrorCode::out_of_memory) return false;
    if (!result) news_ |= kWrong;
    return true;
  };
  if (to_send_)
    to_send_ = !begun(
        engine_.send({.to = Rank{(engine_.rank() + distance) % size}, .tag = tag, .channel = engine::Channel::pattern},
                     ConstLayout(&news_out_, 1)),
        send_);
  if (to_receive_)
    to_receive_ = !begun(engine_.receive({.source = Rank{(engine_.rank() + size - distance) % size}, .tag = tag},
                                         Layout(&news_in_, 1), {}, engine::Channel::pattern),
                         receive_);
}

Meeting::State Meeting::progress() {
  while (state_ == State::running) {
    if (to_send_ || to_receive_) begin_messages();
    if (to_send_ || to_receive_ || !engine_.ended(send_) || !engine_.ended(receive_)) break;
    const auto sent = engine_.take_completion(send_);
    const auto received = engine_.take_completion(receive_);
    if (received->code == ErrorCode::ok) news_ |= news_in_;
    if (sent->code != ErrorCode::ok || received->code != ErrorCode::ok) news_ |= kWrong;
    ++round_;
    begin_round();
  }
  return state_;
}

std::uint8_t Meeting::wrong_because(ErrorCode code) {
  if (code == ErrorCode::peer_failed) return kWrong | kDeath;
  if (code == ErrorCode::connection_lost) return kWrong | kCutOff;
  return code == ErrorCode::peer_left ? kWrong | kDeparture : kWrong;
}

ErrorCode Meeting::reason(std::uint8_t news) {
  if ((news & kDeath) != 0) return ErrorCode::peer_failed;
  if ((news & kCutOff) != 0) return ErrorCode::connection_lost;
  return (news & kDeparture) != 0 ? ErrorCode::peer_left : ErrorCode::pattern_freed;
}

void Meeting::abandon() {
  if (state_ != State::running) return;
  engine_.cancel(receive_);
  to_send_ = to_receive_ = false;
  state_ = State::failed;
  abandoned_ = true;
}

bool Meeting::wound_up() {
  const bool sent = wind_up(engine_, send_);
  return wind_up(engine_, receive_) && sent;
}

} // namespace heddle::pattern
