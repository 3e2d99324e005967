// Cables that come and go, and the set-up of tables that follows. Switches and interfaces exchange handshakes all the time;
// those that arrive as expected change nothing, so only the first that stays out and the first that comes are events.
#include <algorithm>
#include <iterator>

#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

// In one word.
std::uint64_t word_for(const Epoch& epoch) {
  return epoch.number << 32 ^ static_cast<std::uint64_t>(epoch.coordinator);
}

} // namespace

// Everybody's handshakes have come and everybody starts a round, as when the power comes on; the largest epoch remains.
void RhinetNetwork::boot(const std::vector<std::uint32_t>& unplugged) {
  for (std::uint32_t cable = 0; cable < cables_.size(); ++cable) {
    cables_[cable].plugged = std::ranges::find(unplugged, cable) == unplugged.end();
    if (cables_[cable].plugged) set_neighbours(cable);
  }
  for (std::uint32_t at = 0; at < maintainers_.size(); ++at) carry_out(at, maintainers_[at].begin());
  while (step()) {
  }
  now_ = Picoseconds{0};
  history_ = 0;
  events_ = 0;
  queue_ = EventQueue();
  queue_.expect(ahead_);
  for (Wire& wire : wires_) wire.free = Picoseconds{0};
  reports_.clear();
}

bool RhinetNetwork::settled() const {
  return rounds_under_way_ == 0;
}

// Both ends of a cable learn who is at the other.
void RhinetNetwork::set_neighbours(std::uint32_t cable) {
  for (const std::uint32_t link : {2 * cable, 2 * cable + 1}) {
    const End& here = fabric_.links[link].from;
    const End& there = fabric_.links[link].to;
    if (here.kind != End::Kind::switch_) continue;
    maintainers_[here.index].note(here.port, Neighbour{there.kind, PhysicalId{there.index + 1}, there.port});
  }
}

// Each part has a beat of its own.
Picoseconds RhinetNetwork::next_handshake(const End& end, int more) const {
  const Picoseconds period = fabric_.rhinet->handshake_period;
  const Picoseconds phase = period * ((end.index * 7 + end.port * 3) % 16) / 16;
  const std::int64_t beats = (now_ - phase) / period + 1 + more;
  return std::max(now_, phase + beats * period);
}

void RhinetNetwork::cut(std::uint32_t cable) {
  Cable& here = cables_[cable];
  if (!here.plugged) return;
  here.plugged = false;
  ++here.plugging;
  for (const std::uint32_t link : {2 * cable, 2 * cable + 1}) {
    Wire& wire = wires_[link];
    wire.carries = false;
    ++wire.cut;
    clear_moving(wire);
    ++rounds_under_way_;
    push(next_handshake(fabric_.links[link].from, static_cast<int>(fabric_.rhinet->missed_handshakes)),
         {.what = What::lost, .a = link, .b = here.plugging});
  }
}

void RhinetNetwork::plug(std::uint32_t cable) {
  Cable& here = cables_[cable];
  if (here.plugged) return;
  here.plugged = true;
  ++here.plugging;
  const Link& link = fabric_.links[std::size_t{2} * cable];
  ++rounds_under_way_;
  push(std::max(next_handshake(link.from, 1), next_handshake(link.to, 1)),
       {.what = What::found, .a = cable, .b = here.plugging});
}

void RhinetNetwork::handshakes_lost(End end) {
  if (end.kind == End::Kind::node) {
    nodes_[end.index].map = nullptr; // it sends nothing until a switch says go
    return;
  }
  maintainers_[end.index].note(end.port, std::nullopt);
  carry_out(end.index, maintainers_[end.index].begin());
}

// Also where the cable was cut for so short a time that nobody had noticed: handshakes count from one on again, and whatever
// was lost meanwhile must be sent again.
void RhinetNetwork::handshakes_found(std::uint32_t cable) {
  set_neighbours(cable);
  for (const std::uint32_t link : {2 * cable, 2 * cable + 1}) {
    const End& end = fabric_.links[link].from;
    if (end.kind == End::Kind::switch_) carry_out(end.index, maintainers_[end.index].begin());
  }
}

void RhinetNetwork::carry_out(std::uint32_t at, Maintainer::Effects effects) {
  if (effects.load != nullptr) load(at, std::move(effects.load));
  if (effects.report != nullptr) hear_report(*effects.report);
  if (effects.go) {
    for (std::uint32_t port = 0; port < fabric_.switches[at].ports; ++port) {
      const std::uint32_t wire = wire_out_of(at, port);
      if (wire == kNone || wires_[wire].to_node == kNone || !wires_[wire].carries) continue;
      push(now_ + wires_[wire].delay,
           {.what = What::go, .a = wires_[wire].to_node, .c = word_for(maintainers_[at].epoch())});
    }
  }
  const Picoseconds processing = fabric_.rhinet->message_processing;
  for (Maintainer::Outgoing& each : effects.messages) {
    const std::uint32_t wire = wire_out_of(at, each.port);
    const std::uint32_t cable = wire / 2;
    if (!cables_[cable].plugged) continue;
    const End& to = fabric_.links[wire].to;
    const Picoseconds time =
        now_ + processing + wires_[wire].delay + wires_[wire].rate.time(std::min(each.message.bytes(), kLargestPiece));
    const std::uint32_t index = mail_.take();
    mail_[index] = {cable, cables_[cable].plugging, to.index, to.port, std::move(each.message)};
    ++rounds_under_way_;
    push(time, {.what = What::message, .a = index});
  }
}

void RhinetNetwork::deliver(std::uint32_t index) {
  Mail mail = std::move(mail_[index]);
  mail_.give_back(index);
  --rounds_under_way_;
  if (cables_[mail.cable].plugging != mail.plugging) return; // it was on a cable that has been cut
  carry_out(mail.to, maintainers_[mail.to].receive(mail.port, std::move(mail.message)));
}

// What the map has of cables, against what the last one had.
void RhinetNetwork::hear_report(const Map& map) {
  std::vector<std::string> cables;
  for (const SwitchDescription& each : map.switches)
    for (std::uint32_t port = 0; port < each.ports.size(); ++port) {
      const auto& there = each.ports[port];
      if (!there || (there->kind == End::Kind::switch_ && std::pair(there->id, there->port) < std::pair(each.id, port)))
        continue;
      const auto end = [](End::Kind kind, PhysicalId id, std::uint32_t at_port) {
        return End{kind, static_cast<std::uint32_t>(id) - 1, at_port};
      };
      cables.push_back(fabric_.name_of(end(End::Kind::switch_, each.id, port)) + " - " +
                       fabric_.name_of(end(there->kind, there->id, there->port)));
    }
  std::ranges::sort(cables);
  Report report{.time = now_, .gone = {}, .come = {}};
  std::ranges::set_difference(known_cables_, cables, std::back_inserter(report.gone));
  std::ranges::set_difference(cables, known_cables_, std::back_inserter(report.come));
  known_cables_ = std::move(cables);
  if (!report.gone.empty() || !report.come.empty()) reports_.push_back(std::move(report));
}

// A new table: what the old one has sent here is dropped, and the cables that the new one knows carry packets.
void RhinetNetwork::load(std::uint32_t at, std::shared_ptr<const Map> map) {
  RhinetSwitch& here = switches_[at];
  here.map = std::move(map);
  here.ports.assign(fabric_.nodes, kNoPort);
  for (const PhysicalId node : here.map->nodes) {
    here.ports[static_cast<std::size_t>(node) - 1] = here.map->port(PhysicalId{at + 1}, node);
  }
  here.up.clear();
  for (std::uint32_t port = 0; port < fabric_.switches[at].ports; ++port)
    here.up.push_back(here.map->leads_up(PhysicalId{at + 1}, port));
  for (std::uint32_t port = 0; port < fabric_.switches[at].ports; ++port) {
    const std::uint32_t out = wire_out_of(at, port);
    if (out == kNone) continue;
    const std::uint32_t in = out ^ 1U; // the other direction of the cable
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) clear_buffer(in * lanes_ + lane);
    wires_[in].incoming = kNone;
    reset_sender(out);
    if (wires_[out].to_node != kNone && cables_[out / 2].plugged) {
      reset_sender(in);
      reset_node(wires_[out].to_node, here.map->epoch);
    }
  }
}

// The sending end of a wire starts anew.
void RhinetNetwork::reset_sender(std::uint32_t index) {
  Wire& wire = wires_[index];
  if (!wire.carries) wire.stopped = 0; // what was said before the cut is over
  wire.carries = cables_[index / 2].plugged;
  ++wire.round;
  wire.from = kNone;
  wire.free = now_;
  for (auto& line : wire.waiting) line.clear();
}

void RhinetNetwork::reset_node(std::uint32_t number, const Epoch& epoch) {
  RhinetNode& node = nodes_[number];
  node.epoch = epoch;
  node.map = nullptr;
  give_up_sending(number);
  give_up_receiving(number);
}

// All switches have the new tables: the node's interface sends again what is not acknowledged, then what is new.
void RhinetNetwork::go(std::uint32_t number, std::uint64_t epoch) {
  RhinetNode& node = nodes_[number];
  const auto& map = switches_[wires_[node.inject].to_switch].map;
  if (word_for(node.epoch) != epoch || map->epoch != node.epoch || node.map != nullptr) return; // overtaken
  node.map = map;
  node.send.again.clear();
  for (const auto& [serial, packet] : node.send.unacknowledged) node.send.again.push_back(serial);
  send_next(number);
  acknowledge(number);
}

} // namespace heddle::sim
