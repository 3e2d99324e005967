// Puts to many peers at once, copied by the switches. A member's interface acknowledges like that of a single target.
#include "translators/execute.hpp"
#include "translators/simulated/interconnect.hpp"
#include "translators/simulated/simulated.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace heddle::translators::simulated {

namespace {

constexpr sim::Picoseconds kPatience = std::chrono::microseconds(500); // until a dead member is given up

} // namespace

Result<ir::Peer> Simulated::make_group(std::span<const ir::GroupMember> members) {
  const auto bad = [](std::string fact) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = std::move(fact)});
  };
  if (members.empty()) return bad("an empty group of peers");
  for (const ir::GroupMember& member : members) {
    const auto rank = static_cast<std::uint32_t>(member.peer);
    if (rank >= attached_.size() || !attached_[rank])
      return bad("peer " + std::to_string(rank) + " of a group is not attached");
    if (std::ranges::count(members, member.peer, &ir::GroupMember::peer) > 1)
      return bad("peer " + std::to_string(rank) + " is in a group twice");
  }
  auto free = std::ranges::find_if(groups_, [](const auto& group) { return group.empty(); });
  if (free == groups_.end()) free = groups_.emplace(groups_.end());
  free->assign(members.begin(), members.end());
  return ir::Peer{ir::kFirstGroup + static_cast<std::uint32_t>(free - groups_.begin())};
}

void Simulated::drop_group(ir::Peer peer) {
  if (group(peer) != nullptr) groups_[static_cast<std::uint32_t>(peer) - ir::kFirstGroup].clear();
}

const std::vector<ir::GroupMember>* Simulated::group(ir::Peer peer) const {
  const std::size_t index = ir::is_group(peer) ? static_cast<std::uint32_t>(peer) - ir::kFirstGroup : groups_.size();
  return index < groups_.size() && !groups_[index].empty() ? &groups_[index] : nullptr;
}

void Interconnect::carry_to_group(Simulated& from, const ir::Command& command,
                                  const std::vector<ir::GroupMember>& members) {
  const std::uint32_t index = take_flight(from, command);
  Flight& flight = flights_[index];
  flight.status = ir::Status::ok;
  flight.holds_data = false;
  flight.group = members;
  flight.answers = members.size();
  std::vector<std::uint32_t> nodes;
  for (const ir::GroupMember& member : members) nodes.push_back(node_of(member.peer));
  const auto group = network_.add_group(std::move(nodes));
  const Steering way = from.way_to(members.front().peer, command, false);
  const bool sent =
      group && network_.submit({.source = node_of(from.self_),
                                .bytes = put_extent(command),
                                .cookie = index,
                                .group = *group,
                                .lane = way.lane,
                                .payload = command.bytes > 0 ? sim::Payload::memory : sim::Payload::immediate});
  if (!sent) set_alarm(now(), Alarm::timeout, index);
}

// All members on that node have it now; each answers for itself.
void Interconnect::arrived_at_group(std::uint32_t index, std::uint32_t node) {
  flights_[index].leg = Leg::back;
  const std::vector<ir::GroupMember> members = flights_[index].group; // the last answer ends the flight
  const bool signalled = ir::has(flights_[index].command.flags, ir::Flags::signalled);
  const bool wanted = member(flights_[index].from) != nullptr;
  for (const ir::GroupMember& each : members) {
    if (node_of(each.peer) != node) continue;
    Simulated* target = member(each.peer);
    if (target == nullptr && wanted) {
      set_alarm(now() + kPatience, Alarm::absence, index);
      continue;
    }
    if (wanted) land_at_member(flights_[index], each, *target);
    if (signalled && wanted)
      send(index, *target, flights_[index].from, 0, sim::Payload::immediate);
    else
      member_answered(index, ir::Status::ok);
  }
}

void Interconnect::land_at_member(Flight& flight, const ir::GroupMember& place, Simulated& target) {
  ir::Command command = flight.command;
  command.peer = place.peer;
  command.remote = place.place.at(flight.command.remote.offset);
  std::byte* to = target.reach(flight.from, command.remote, put_extent(command));
  if (to == nullptr || !put_is_sound(command, to)) {
    if (flight.status == ir::Status::ok) flight.status = ir::Status::refused;
    return;
  }
  execute_put(command, to);
  touch(place.peer);
  if (ir::has(command.flags, ir::Flags::announced)) target.announce(flight.from, command);
}

void Interconnect::member_answered(std::uint32_t index, ir::Status status) {
  Flight& flight = flights_[index];
  if (flight.status == ir::Status::ok) flight.status = status;
  if (--flight.answers == 0) finish(index, flight.status);
}

} // namespace heddle::translators::simulated
