#include "pattern/give_ups.hpp"

#include "engine/fate.hpp"
#include "pattern/meeting.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pattern {

void GiveUps::listen() {
  listening_ = true; // where there is no memory for it, it is tried again
  const auto request = engine_.receive({.source = kAnySource, .tag = tag_of(serial_, 0, Topic::given_up)},
                                       Layout(&because_, sizeof because_), {}, engine::Channel::pattern);
  given_up_ = request.value_or(Request{});
}

void GiveUps::stop() {
  listening_ = false;
  engine_.cancel(given_up_); // one that has just been matched ends by itself
  wind_up(engine_, given_up_);
}

bool GiveUps::hear() {
  bool heard = false;
  if (listening_ && given_up_.name == 0) listen();
  while (given_up_.name != 0 && engine_.ended(given_up_)) {
    const auto completion = engine_.take_completion(given_up_);
    given_up_ = {};
    listening_ = listening_ && completion->code == ErrorCode::ok;
    if (completion->code != ErrorCode::ok) break;
    const auto partner =
        std::ranges::find(plan_.partners, static_cast<std::uint32_t>(completion->peer), &Partner::rank);
    if (partner != plan_.partners.end()) partner->lost = partner->never_began = heard = true;
    heard_ = engine::graver(heard_, std::exchange(because_, ErrorCode::ok));
    if (listening_) listen();
  }
  return heard;
}

bool GiveUps::wound_up() {
  return listening_ || wind_up(engine_, given_up_);
}

} // namespace heddle::pattern
