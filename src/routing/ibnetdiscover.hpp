// Reads what `ibnetdiscover` prints of a subnet. Levels are found, not told: leaves are the switches with hosts.
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

// Bytes of a file with a topology or a pattern: several times what the largest subnet, or all-to-all of 8,000 nodes, needs.
inline constexpr std::uint64_t kLargestFile = std::uint64_t{512} << 20U;

// bad_argument names the line: what cannot be read, a cable whose ends disagree, a port used twice or not there, an unknown node;
// or says why the whole is no fat tree. Switches and hosts get their descriptions as names, or their ids where descriptions
// repeat; each cabled port of a host counts as a host of its own.
Result<Fabric> parse_ibnetdiscover(std::string_view text);

} // namespace heddle::routing
