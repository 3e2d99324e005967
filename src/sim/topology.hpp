// Free topologies: named switches and nodes, and cables between their ports; read from text.
//   # comment
//   switch NAME [ports=8]
//   node NAME SWITCH:PORT [metres=N] [rate=80MB/s]
//   link SWITCH:PORT SWITCH:PORT [metres=N] [rate=80MB/s]
// A name stands on a line above those that use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

struct Topology {
  struct Cable {
    End a;
    End b;
    std::uint32_t metres = kNone; // kNone and a rate of 0: as the fabric has it
    Rate rate;
  };
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  std::vector<std::uint32_t> ports; // of each switch
  std::vector<Cable> cables;
};

inline constexpr std::uint32_t kRhinetPorts = 8;

// Errors name the line: "star.txt line 3: ...". `origin` is what to call the text.
Result<Topology> parse_topology(std::string_view text, std::string_view origin);

// `nodes` nodes on as few switches of `ports` ports as a tree takes, filled breadth first.
Topology star(std::uint32_t nodes, std::uint32_t ports = kRhinetPorts);

// A ring of switches with one node each; port 0 has the node, port 1 leads on, port 2 back.
Topology ring(std::uint32_t nodes, std::uint32_t ports = kRhinetPorts);

// A torus of switches with one node each; port 0 has the node, 1 and 2 lead on and back along a row of `columns`, 3 and 4 along a column.
Topology torus(std::uint32_t columns, std::uint32_t rows, std::uint32_t ports = kRhinetPorts);

// Tables for one LID per node (node + 1). Shortest ways, or among ways that go up towards switch 0 first and then only
// down; of equal ones through the lowest port after the target's number, so that targets spread over parallel cables.
Tables shortest_ways(const Fabric& fabric, bool up_then_down);

// By link: whether it leads up, from a switch to one that is nearer to switch 0, or as near and of a lower number.
std::vector<bool> ways_up(const Fabric& fabric);

} // namespace heddle::sim
