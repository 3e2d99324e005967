// A switched fabric as a plain graph: hosts, switches, and what every port is cabled to; levels are part of the data.
// Not here: where it comes from (tree.hpp, ibnetdiscover.hpp) and how packets travel on it (tables.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"

namespace heddle::routing {

using HostIndex = std::uint32_t;
using SwitchIndex = std::uint32_t;
using Port = std::uint8_t;       // 0 is the switch itself, as in InfiniBand
using LinkIndex = std::uint32_t; // a directed link, named by the switch port that it leaves
inline constexpr Port kLargestPort = 254;

// What a port is cabled to.
struct Peer {
  enum class Kind : std::uint8_t { nothing, host, a_switch };
  Kind kind = Kind::nothing;
  Port port = 0; // at the other end
  std::uint32_t index = 0;

  bool operator==(const Peer&) const = default;
};

struct Host {
  std::string name;
  std::uint64_t guid = 0;
  std::uint64_t port_guid = 0;
  Port port = 1;
  Port leaf_port = 0;
  SwitchIndex leaf = 0;
  std::uint16_t lid = 0; // what the topology says that it has; 0: nothing. Tables are planned without (lids.hpp).
  std::uint8_t lmc = 0;
  bool present = true; // a failed or missing host keeps its number, so that no other host's LIDs change
};

struct Switch {
  std::string name;
  std::uint64_t guid = 0;
  std::uint32_t level = 0; // 0: leaf
  bool present = true;
  std::vector<Peer> ports; // [0] stays empty
};

// Hosts in the order of the fabric (all of a leaf together), switches by level, leaves first.
struct Fabric {
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  std::uint32_t levels = 0;

  [[nodiscard]] SwitchIndex first_of_level(std::uint32_t level) const;
  [[nodiscard]] std::uint32_t leaves() const { return first_of_level(1); }
  [[nodiscard]] SwitchIndex first_root() const { return first_of_level(levels - 1); }
  [[nodiscard]] std::uint32_t roots() const { return static_cast<std::uint32_t>(switches.size()) - first_root(); }
  // True where `peer`, a neighbour of a switch at `level`, is a switch further from the hosts.
  [[nodiscard]] bool is_up(std::uint32_t level, const Peer& peer) const {
    return peer.kind == Peer::Kind::a_switch && switches[peer.index].level > level;
  }
  [[nodiscard]] bool is_down(std::uint32_t level, const Peer& peer) const {
    return peer.kind == Peer::Kind::a_switch && switches[peer.index].level < level;
  }
};

// Cables both ends; grows the port lists as needed.
void connect(Fabric& fabric, SwitchIndex one, Port one_port, SwitchIndex other, Port other_port);
void connect_host(Fabric& fabric, HostIndex host, SwitchIndex leaf, Port leaf_port);

// Finds the levels of a graph whose switches have none yet, and puts hosts and switches into the order above. The error names
// what keeps it from being a fat tree: a link inside a level, a switch no host can reach, a host on no switch.
Result<Fabric> arrange(Fabric graph);

// Takes out what the list names, separated by commas: a host, a switch, one cable `leaf0-root1`, or its p-th of several
// `leaf0-root1:2`. bad_argument names what is not there, with the nearest name.
Result<void> fail(Fabric& fabric, std::string_view list);

// Numbers the directed links of a fabric densely.
class Links {
 public:
  explicit Links(const Fabric& fabric);
  [[nodiscard]] LinkIndex at(SwitchIndex from, Port port) const { return first_[from] + port; }
  [[nodiscard]] std::uint32_t count() const { return first_.back(); }
  // "leaf1->root0"; where several cables join the two, "leaf1->root0 (port 7)".
  [[nodiscard]] std::string name(const Fabric& fabric, LinkIndex link) const;

 private:
  std::vector<LinkIndex> first_;
};

} // namespace heddle::routing
