#include "sim/rhinet/maintainer.hpp"

#include <algorithm>
#include <iterator>

namespace heddle::sim {
namespace {

constexpr std::uint32_t kHeadBytes = 32; // kind, epoch, physical ids of sender and coordinator
constexpr std::uint32_t kPortBytes = 12; // physical id, port and kind of a neighbour

std::uint32_t bytes_of(const std::vector<SwitchDescription>& switches) {
  std::uint32_t bytes = 0;
  for (const SwitchDescription& each : switches)
    bytes += kPortBytes * (1 + static_cast<std::uint32_t>(each.ports.size()));
  return bytes;
}

} // namespace

std::uint32_t SetUpMessage::bytes() const {
  return kHeadBytes + bytes_of(found) + (map != nullptr ? bytes_of(map->switches) : 0);
}

Maintainer::Effects Maintainer::begin() {
  Effects effects;
  join({epoch_.number + 1, own_.id}, kNoParent, effects);
  return effects;
}

Maintainer::Effects Maintainer::receive(std::uint32_t port, SetUpMessage message) {
  Effects effects;
  if (message.epoch > epoch_ && message.kind == SetUpMessage::Kind::explore) {
    join(message.epoch, port, effects);
    return effects;
  }
  if (message.kind == SetUpMessage::Kind::report) {
    report(std::move(message.map), effects);
    return effects;
  }
  if (message.epoch != epoch_) return effects; // of a round that has been overtaken
  switch (message.kind) {
    case SetUpMessage::Kind::explore: // two branches of the tree have met: nothing more will come from there
      std::erase(awaited_, port);
      explored_if_all(effects);
      break;
    case SetUpMessage::Kind::echo:
      std::erase(awaited_, port);
      children_.push_back(port);
      std::ranges::move(message.found, std::back_inserter(found_));
      explored_if_all(effects);
      break;
    case SetUpMessage::Kind::map: load(std::move(message.map), effects); break;
    case SetUpMessage::Kind::loaded:
      std::erase(awaited_, port);
      loaded_if_all(effects);
      break;
    case SetUpMessage::Kind::go: go(effects); break;
    case SetUpMessage::Kind::report: break; // above
  }
  return effects;
}

void Maintainer::join(const Epoch& epoch, std::uint32_t parent, Effects& effects) {
  epoch_ = epoch;
  parent_ = parent;
  awaited_.clear();
  children_.clear();
  found_ = {own_};
  for (std::uint32_t port = 0; port < own_.ports.size(); ++port) {
    const auto& neighbour = own_.ports[port];
    if (port == parent || !neighbour || neighbour->kind != End::Kind::switch_) continue;
    awaited_.push_back(port);
    effects.messages.push_back({port, {.kind = SetUpMessage::Kind::explore, .epoch = epoch_, .found = {}, .map = {}}});
  }
  explored_if_all(effects);
}

void Maintainer::explored_if_all(Effects& effects) {
  if (!awaited_.empty()) return;
  if (parent_ == kNoParent) return load(make_map(epoch_, std::move(found_), rule_), effects);
  effects.messages.push_back(
      {parent_, {.kind = SetUpMessage::Kind::echo, .epoch = epoch_, .found = std::move(found_), .map = {}}});
  found_.clear();
}

void Maintainer::load(std::shared_ptr<const Map> map, Effects& effects) {
  map_ = std::move(map);
  effects.load = map_;
  awaited_ = children_;
  send_down(SetUpMessage::Kind::map, effects);
  loaded_if_all(effects);
}

void Maintainer::loaded_if_all(Effects& effects) {
  if (!awaited_.empty()) return;
  if (parent_ == kNoParent) return go(effects);
  effects.messages.push_back({parent_, {.kind = SetUpMessage::Kind::loaded, .epoch = epoch_, .found = {}, .map = {}}});
}

void Maintainer::go(Effects& effects) {
  effects.go = true;
  send_down(SetUpMessage::Kind::go, effects);
  if (parent_ == kNoParent) report(map_, effects);
}

// One step nearer to the management node, by the tables in force here; lost where there is no way, as the next round will report anew.
void Maintainer::report(std::shared_ptr<const Map> map, Effects& effects) const {
  const std::uint16_t port = map_->port(own_.id, manager_);
  if (port == kNoPort || !own_.ports[port]) return;
  if (own_.ports[port]->kind == End::Kind::node) {
    effects.report = std::move(map);
    return;
  }
  effects.messages.push_back(
      {port, {.kind = SetUpMessage::Kind::report, .epoch = map->epoch, .found = {}, .map = std::move(map)}});
}

void Maintainer::send_down(SetUpMessage::Kind kind, Effects& effects) const {
  for (const std::uint32_t port : children_) {
    const bool with_map = kind == SetUpMessage::Kind::map;
    effects.messages.push_back({port, {.kind = kind, .epoch = epoch_, .found = {}, .map = with_map ? map_ : nullptr}});
  }
}

} // namespace heddle::sim
