#include "sim/fabric.hpp"

#include <algorithm>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

Result<void> check_rules(const Fabric& fabric) {
  const PacketRules& rules = fabric.packets;
  if (rules.mtu == 0) return refuse("the mtu is 0");
  if (rules.header_bytes >= kLargestPiece || rules.mtu > kLargestPiece - rules.header_bytes) {
    return refuse("a packet of " + std::to_string(rules.mtu) + " bytes is too large",
                  "an mtu of at most " + std::to_string(kLargestPiece / 2));
  }
  if (rules.lanes == 0 || rules.lanes > kMostLanes) {
    return refuse(std::to_string(rules.lanes) + " lanes: expected 1 to " + std::to_string(kMostLanes));
  }
  if (rules.buffer_bytes < rules.mtu + rules.header_bytes) {
    return refuse("a buffer of " + std::to_string(rules.buffer_bytes) + " bytes holds no packet of " +
                      std::to_string(rules.mtu + rules.header_bytes),
                  "a larger buffer or a smaller mtu");
  }
  const Interface& interface = fabric.interface;
  if (interface.ports == 0 || interface.send_engines == 0 || interface.queue_packets == 0) {
    return refuse("an interface needs at least one port, one engine and room for one packet");
  }
  return {};
}

Result<void> place(const Fabric& fabric, const End& end, std::uint32_t link, std::vector<std::uint32_t>& slots,
                   const std::vector<std::uint32_t>& first_port) {
  const bool at_node = end.kind == End::Kind::node;
  if (end.index >= (at_node ? fabric.nodes : fabric.switches.size())) {
    return refuse("a link ends at " + fabric.name_of(end) + ", which does not exist");
  }
  const std::uint32_t ports = at_node ? fabric.interface.ports : fabric.switches[end.index].ports;
  if (end.port >= ports) {
    return refuse("a link ends at " + fabric.name_of(end) + ", but there are only " + std::to_string(ports) + " ports");
  }
  std::uint32_t& slot = slots[(at_node ? end.index * ports : first_port[end.index]) + end.port];
  if (slot != kNone) return refuse(fabric.name_of(end) + " is used twice");
  slot = link;
  return {};
}

} // namespace

Picoseconds Stage::time(std::uint32_t bytes) const {
  Picoseconds total = fixed + rate.time(bytes);
  if (block_bytes != 0) total += per_block * ((bytes + block_bytes - 1) / block_bytes);
  return total;
}

double Stage::rate_at(std::uint32_t bytes) const {
  const Picoseconds taken = time(bytes);
  if (taken.count() == 0) return 0;
  return static_cast<double>(bytes) * static_cast<double>(kPicosecondsPerSecond) / static_cast<double>(taken.count());
}

void Fabric::connect(End a, End b, Rate rate, Picoseconds delay) {
  links.push_back({a, b, rate, delay});
  links.push_back({b, a, rate, delay});
}

std::string Fabric::name_of_node(std::uint32_t node) const {
  return "node " + (node < node_names.size() ? node_names[node] : std::to_string(node));
}

std::string Fabric::name_of_switch(std::uint32_t at) const {
  return "switch " + (at < switch_names.size() ? switch_names[at] : std::to_string(at));
}

std::string Fabric::name_of(const End& end) const {
  if (end.kind == End::Kind::switch_) return name_of_switch(end.index) + " port " + std::to_string(end.port);
  if (interface.ports == 1) return name_of_node(end.index);
  return name_of_node(end.index) + " port " + std::to_string(end.port);
}

Result<Wiring> wire(const Fabric& fabric) {
  if (auto rules = check_rules(fabric); !rules) return std::unexpected(std::move(rules).error());
  Wiring wiring;
  wiring.first_port.push_back(0);
  for (const Switch& each : fabric.switches) wiring.first_port.push_back(wiring.first_port.back() + each.ports);
  wiring.out.assign(wiring.first_port.back(), kNone);
  wiring.inject.assign(std::size_t{fabric.nodes} * fabric.interface.ports, kNone);
  wiring.eject = wiring.inject;
  std::vector<std::uint32_t> in = wiring.out;
  for (std::uint32_t link = 0; link < fabric.links.size(); ++link) {
    const Link& each = fabric.links[link];
    if (each.rate.bytes_per_second <= 0) {
      return refuse("the link from " + fabric.name_of(each.from) + " to " + fabric.name_of(each.to) +
                    " has a rate of zero");
    }
    auto& from = each.from.kind == End::Kind::node ? wiring.inject : wiring.out;
    auto& to = each.to.kind == End::Kind::node ? wiring.eject : in;
    if (auto placed = place(fabric, each.from, link, from, wiring.first_port); !placed) {
      return std::unexpected(std::move(placed).error());
    }
    if (auto placed = place(fabric, each.to, link, to, wiring.first_port); !placed) {
      return std::unexpected(std::move(placed).error());
    }
  }
  for (std::uint32_t slot = 0; slot < wiring.inject.size(); ++slot) {
    if (wiring.inject[slot] != kNone && wiring.eject[slot] != kNone) continue;
    if (fabric.is_absent(slot / fabric.interface.ports)) continue;
    const End end = node_end(slot / fabric.interface.ports, slot % fabric.interface.ports);
    return refuse(fabric.name_of(end) + " has no link");
  }
  return wiring;
}

namespace {

// Where LID `lid` leads from every switch; each switch is walked once.
class TableWalk {
 public:
  TableWalk(const Fabric& fabric, const Wiring& wiring)
      : fabric_(fabric),
        wiring_(wiring),
        stamp_(fabric.switches.size(), 0),
        done_(fabric.switches.size(), 0),
        reached_(fabric.switches.size(), false) {}

  // Finds loops and wrong ends; a switch that does not know the LID is no breach by itself (see reached).
  Result<void> walk(std::uint32_t lid) {
    ++round_;
    for (std::uint32_t start = 0; start < fabric_.switches.size(); ++start) {
      trail_.clear();
      std::uint32_t at = start;
      bool arrives = false;
      while (at != kNone && done_[at] != round_) {
        if (stamp_[at] == round_) return loop(lid, at);
        stamp_[at] = round_;
        trail_.push_back(at);
        arrives = fabric_.tables.port(at, lid) != kNoPort;
        auto next = step(lid, at);
        if (!next) return std::unexpected(std::move(next).error());
        at = *next;
      }
      if (at != kNone) arrives = reached_[at];
      for (const std::uint32_t seen : trail_) {
        done_[seen] = round_;
        reached_[seen] = arrives;
      }
    }
    return {};
  }

  // Whether the LID walked last can be reached from this switch.
  [[nodiscard]] bool reached(std::uint32_t at) const { return reached_[at]; }

 private:
  // The next switch, or kNone where the way ends at the LID's node or is unknown.
  Result<std::uint32_t> step(std::uint32_t lid, std::uint32_t at) {
    const std::uint16_t port = fabric_.tables.port(at, lid);
    if (port == kNoPort) return kNone;
    if (port >= wiring_.ports_of(at) || wiring_.link_at(at, port) == kNone) {
      return refuse("the table of " + fabric_.name_of_switch(at) + " sends LID " + std::to_string(lid) + " to port " +
                    std::to_string(port) + ", where no link is");
    }
    const End& to = fabric_.links[wiring_.link_at(at, port)].to;
    if (to.kind == End::Kind::switch_) return to.index;
    if (to.index == fabric_.tables.owner[lid]) return kNone;
    return refuse("the table of " + fabric_.name_of_switch(at) + " sends LID " + std::to_string(lid) + " to " +
                  fabric_.name_of_node(to.index) + ", which does not have it");
  }

  [[nodiscard]] Result<void> loop(std::uint32_t lid, std::uint32_t at) const {
    std::string text = "the tables send LID " + std::to_string(lid) + " round in a loop: ";
    const auto first = std::find(trail_.begin(), trail_.end(), at);
    for (auto each = first; each != trail_.end(); ++each) text += fabric_.name_of_switch(*each) + " -> ";
    return refuse(text + fabric_.name_of_switch(at));
  }

  const Fabric& fabric_;
  const Wiring& wiring_;
  std::vector<std::uint32_t> stamp_; // round in which a switch was met
  std::vector<std::uint32_t> done_;  // round in which its way was found good
  std::vector<bool> reached_;
  std::vector<std::uint32_t> trail_;
  std::uint32_t round_ = 0;
};

} // namespace

Result<void> check_tables(const Fabric& fabric, const Wiring& wiring) {
  const Tables& tables = fabric.tables;
  if (tables.ports.size() != fabric.switches.size() * tables.lids || tables.owner.size() != tables.lids ||
      tables.base.size() != fabric.nodes) {
    return refuse("the tables do not fit the fabric: " + std::to_string(tables.ports.size()) + " entries for " +
                  std::to_string(fabric.switches.size()) + " switches and " + std::to_string(tables.lids) + " LIDs");
  }
  for (const std::uint32_t owner : tables.owner) {
    if (owner != kNone && owner >= fabric.nodes) return refuse("a LID belongs to a node that is not there");
  }
  TableWalk walk(fabric, wiring);
  for (std::uint32_t lid = 1; lid < tables.lids; ++lid) {
    const std::uint32_t owner = tables.owner[lid];
    if (owner == kNone) continue;
    if (auto good = walk.walk(lid); !good) return good;
    if (tables.base[owner] != lid) continue;
    for (const std::uint32_t link : wiring.inject) {
      if (link == kNone) continue; // of an absent node
      const Link& first = fabric.links[link];
      if (first.to.kind != End::Kind::switch_ || walk.reached(first.to.index)) continue;
      return std::unexpected(Error{.code = ErrorCode::unreachable,
                                   .fact = fabric.name_of_node(owner) + " cannot be reached from " +
                                           fabric.name_of_node(first.from.index) + ": the tables have no path to LID " +
                                           std::to_string(lid)});
    }
  }
  for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
    if (fabric.is_absent(node)) continue;
    if (tables.base[node] >= tables.lids || tables.owner[tables.base[node]] != node) {
      return refuse(fabric.name_of_node(node) + " has no LID");
    }
  }
  return {};
}

namespace {

Error no_path(const Fabric& fabric, End from, const Heading& heading, const std::string& why) {
  std::string fact =
      fabric.name_of_node(heading.node) + " cannot be reached from " + fabric.name_of_node(from.index) + ": " + why;
  return {.code = ErrorCode::unreachable, .fact = std::move(fact)};
}

// A path longer than this many switches can only be a loop.
std::size_t longest_path(const Fabric& fabric) {
  return fabric.switches.size() + 1;
}

} // namespace

Result<std::vector<std::uint32_t>> path(const Fabric& fabric, const Wiring& wiring, End from, Heading heading) {
  if (fabric.is_absent(from.index) || fabric.is_absent(heading.node))
    return std::unexpected(no_path(fabric, from, heading, "one of the two is out of order"));
  std::vector<std::uint32_t> links{wiring.inject[from.index * fabric.interface.ports + from.port]};
  while (fabric.links[links.back()].to.kind == End::Kind::switch_) {
    const std::uint32_t at = fabric.links[links.back()].to.index;
    Hop hop{kNoPort, heading.lane};
    if (fabric.function.call != nullptr) {
      hop = fabric.function.call(fabric.function.data.get(), at, heading);
    } else if (heading.lid < fabric.tables.lids) {
      hop.port = fabric.tables.port(at, heading.lid);
    }
    if (hop.port >= wiring.ports_of(at) || wiring.link_at(at, hop.port) == kNone) {
      return std::unexpected(no_path(fabric, from, heading, fabric.name_of_switch(at) + " knows no path"));
    }
    if (links.size() > longest_path(fabric))
      return std::unexpected(no_path(fabric, from, heading, "the path is a loop"));
    links.push_back(wiring.link_at(at, hop.port));
    heading.lane = static_cast<std::uint16_t>(hop.lane);
  }
  if (fabric.links[links.back()].to.index == heading.node) return links;
  const std::string end = fabric.name_of(fabric.links[links.back()].to);
  return std::unexpected(no_path(fabric, from, heading, "the path ends at " + end));
}

Result<std::vector<std::uint32_t>> path_by_ports(const Fabric& fabric, const Wiring& wiring, End from,
                                                 const std::vector<std::uint16_t>& ports, std::uint32_t target) {
  const Heading heading{.node = target};
  if (fabric.is_absent(from.index) || fabric.is_absent(target))
    return std::unexpected(no_path(fabric, from, heading, "one of the two is out of order"));
  std::vector<std::uint32_t> links{wiring.inject[from.index * fabric.interface.ports + from.port]};
  for (const std::uint16_t port : ports) {
    const End& here = fabric.links[links.back()].to;
    if (here.kind != End::Kind::switch_) {
      return std::unexpected(no_path(fabric, from, heading, "the route goes on after " + fabric.name_of(here)));
    }
    if (port >= wiring.ports_of(here.index) || wiring.link_at(here.index, port) == kNone) {
      return std::unexpected(
          no_path(fabric, from, heading, "no link leaves " + fabric.name_of(switch_end(here.index, port))));
    }
    links.push_back(wiring.link_at(here.index, port));
  }
  const End& end = fabric.links[links.back()].to;
  if (end.kind == End::Kind::node && end.index == target) return links;
  return std::unexpected(no_path(fabric, from, heading, "the route ends at " + fabric.name_of(end)));
}

} // namespace heddle::sim
