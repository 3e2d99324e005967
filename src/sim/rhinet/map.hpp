// What RHiNET's switches tell each other: who is at the other end of each port, as physical ids, and the map of all of it
// that one round of set-up yields, with the tables that follow from it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/fabric.hpp"

namespace heddle::sim {

enum class RhinetRouting : std::uint8_t;

// Burnt into a switch or an interface; nothing else is known of a part when it is switched on.
enum class PhysicalId : std::uint64_t {};

struct Neighbour {
  End::Kind kind = End::Kind::node;
  PhysicalId id{};
  std::uint32_t port = 0; // of the neighbour
  bool operator==(const Neighbour&) const = default;
};

struct SwitchDescription {
  PhysicalId id{};
  std::vector<std::optional<Neighbour>> ports;
};

// One round of set-up. A later one has a larger epoch; of two that start at once, that of the larger id wins.
struct Epoch {
  std::uint64_t number = 0;
  PhysicalId coordinator{};
  auto operator<=>(const Epoch&) const = default;
};

struct Map {
  Epoch epoch;
  std::vector<SwitchDescription> switches;              // by id
  std::vector<PhysicalId> nodes;                        // by id
  Tables tables;                                        // of these switches for these nodes; node n has LID n + 1
  RhinetRouting routing{};                              // that they follow
  std::uint32_t channels_needed = 1;                    // by the routing that was asked for
  std::vector<std::pair<PhysicalId, std::uint32_t>> up; // ports that lead up, by switch and port

  // The table of one switch: for a node the port to take, kNoPort where there is none.
  [[nodiscard]] std::uint16_t port(PhysicalId at, PhysicalId node) const;
  [[nodiscard]] bool leads_up(PhysicalId at, std::uint32_t port) const;
};

// How tables are to be drawn.
struct TableRule {
  RhinetRouting routing{};
  std::uint32_t channels = 1; // of each lane (channels.hpp)
};

// Every switch draws the same tables from the same descriptions, so they are drawn once for all. With up_down they go up
// towards the switch of the lowest id first and then only down: no cycle of buffers, so no deadlock, on any topology.
std::shared_ptr<const Map> make_map(const Epoch& epoch, std::vector<SwitchDescription> switches, const TableRule& rule);

} // namespace heddle::sim
