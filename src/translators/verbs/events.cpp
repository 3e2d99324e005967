// What the adapter says unasked: of itself, its port and its queue pairs.
#include "translators/verbs/verbs.hpp"

#include <algorithm>

namespace heddle::translators {

using verbs::Clock;
using verbs::Party;

void Verbs::hear_device() {
  ibv_async_event event{};
  // Its descriptor does not block.
  while (device_->library().get_async_event(&device_->context(), &event) == 0) {
    const ibv_async_event heard = event;
    device_->library().ack_async_event(&event);
    const auto kind = heard.event_type;
    if (kind == IBV_EVENT_DEVICE_FATAL)
      fail_device("has failed");
    else if (kind == IBV_EVENT_CQ_ERR)
      fail_device("lost completions");
    else if (kind == IBV_EVENT_SRQ_ERR)
      fail_device("receives nothing any more");
    else if (kind == IBV_EVENT_QP_FATAL || kind == IBV_EVENT_QP_REQ_ERR || kind == IBV_EVENT_QP_ACCESS_ERR)
      hear_pair(heard.element.qp, kind);
    else if (kind == IBV_EVENT_PORT_ERR || kind == IBV_EVENT_PORT_ACTIVE || kind == IBV_EVENT_LID_CHANGE)
      hear_port(heard.element.port_num, kind);
  }
}

// A peer whose command was refused has closed the queue pair, which says so at this end, too: that is all in order.
void Verbs::hear_pair(const ibv_qp* pair, ibv_event_type kind) {
  if (door_->hears_by(pair)) return fail_device("hears no calls any more");
  if (kind != IBV_EVENT_QP_FATAL) return;
  const auto has_it = [pair](const auto& each) { return each->pair == pair; };
  for (auto& [uid, party] : parties_)
    if (std::ranges::any_of(party->lanes, has_it) || std::ranges::any_of(party->incoming, has_it))
      return break_off(*party);
}

// Lanes by a further port break by themselves, and others serve until it is up again.
void Verbs::hear_port(int number, ibv_event_type kind) {
  const auto& ports = device_->ports();
  const auto which = static_cast<std::size_t>(std::ranges::find(ports, number, &verbs::Port::number) - ports.begin());
  if (which == ports.size()) return; // it is not used
  const bool before = ports[which].up();
  const bool active = device_->look_at_port(which);
  const std::string name = "verbs: port " + device_->name() + ":" + std::to_string(number);
  if (active != before) log_.warning(name + (active ? " is up again" : " is down"));
  if (which != 0) return;
  if (active)
    port_down_.reset();
  else if (!port_down_)
    port_down_ = Clock::now();
  if (kind != IBV_EVENT_LID_CHANGE || device_->port().about.lid == self_.lid) return;
  // Peers still have the address that it gave them at the beginning.
  log_.error(name + " has got another LID, " + std::to_string(device_->port().about.lid) + " instead of " +
             std::to_string(self_.lid) + ": peers lose contact; start the program anew");
  for (auto& [uid, party] : parties_) settle(*party, Party::State::failed);
}

// For good: what it had is not there when it comes back.
void Verbs::fail_device(const char* why) {
  if (failed_) return;
  failed_ = true;
  log_.error("verbs: device " + device_->name() + " " + why);
  for (auto& [uid, party] : parties_) settle(*party, Party::State::failed);
}

// Nothing can get there, and that has lasted: calling on would not end.
bool Verbs::hopeless(const Party& party, Clock::time_point now) const {
  return (port_down_ && now - *port_down_ > silence_) || (party.no_way && now - *party.no_way > silence_);
}

} // namespace heddle::translators
