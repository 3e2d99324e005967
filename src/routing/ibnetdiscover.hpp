// Reads what `ibnetdiscover` prints of a subnet. Levels are found, not told: leaves are the switches with hosts.
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

// bad_argument names the line: what cannot be read, a cable whose ends disagree, a port used twice or not there, an unknown node;
// or says why the whole is no fat tree. Switches and hosts get their descriptions as names, or their ids where descriptions
// repeat; each cabled port of a host counts as a host of its own.
Result<Fabric> parse_ibnetdiscover(std::string_view text);

} // namespace heddle::routing
