// Any text as OpenSM's tables.
#include "routing/opensm_files.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void opensm_files(Input& input) {
  const auto entries = routing::parse_lfts(input.text());
  if (!entries) demand_message(entries.error());
}

} // namespace heddle::fuzz
