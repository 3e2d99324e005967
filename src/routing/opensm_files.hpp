// The files that carry a plan into a subnet: OpenSM's forwarding tables and LID assignments, and a topology for ibsim to try
// them on. Texts only; who calls writes them.
#pragma once

#include "routing/tables.hpp"

namespace heddle::routing {

// For `opensm -R file -U`: the table of every switch, LID by LID; unset entries are left out.
std::string lft_file(const Subnet& subnet);

// For OpenSM's cache folder: port GUID, first and last LID of every host and switch, so that it gives out the planned LIDs.
std::string guid2lid_file(const Subnet& subnet);

// For ibsim.
std::string ibsim_file(const Fabric& fabric);

// What one line of a table says; for reading back what `dump_fts` prints, or a file as above.
struct LftEntry {
  std::uint64_t guid = 0; // of the switch
  Lid lid = 0;
  Port port = 0;
  bool operator==(const LftEntry&) const = default;
};

// Reads either form of a table; bad_argument names the line.
Result<std::vector<LftEntry>> parse_lfts(std::string_view text);

} // namespace heddle::routing
