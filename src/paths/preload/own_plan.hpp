// What this process needs of the plan: the row of the node that it runs on, for each port that it uses.
#pragma once

#include <cstdint>

struct ibv_context;

namespace heddle::paths {

// Remembers the plan's name: HEDDLE_PATHS_PLAN. Nothing is opened yet.
void name_plan();

enum class Found : std::uint8_t {
  planned,
  unknown,      // no node of the plan has the LID
  foreign_port, // the port is none of the plan's nodes', or there is no plan
  no_lid,       // Ethernet, or a group
};

struct Choice {
  Found found = Found::no_lid;
  std::uint16_t lid = 0;          // to address the node by
  std::uint8_t own_path_bits = 0; // of the LID of ours by which the node addresses us
};

// Which LID to use in place of `lid`, any of its node's. The first call for a port asks the adapter for its LID and reads the file;
// later ones search in memory. Allocates pages of the system's, never from the heap; leaves errno alone.
Choice choose(ibv_context* context, std::uint8_t port, std::uint16_t lid);

} // namespace heddle::paths
