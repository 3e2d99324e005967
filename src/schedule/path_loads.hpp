// Where requests may choose among paths: a choice that loads no link more than it must.
#pragma once

#include "schedule/problem.hpp"

#include <cstdint>
#include <vector>

namespace heddle::schedule {

// By request. The longest takes the path whose fullest link ends up least loaded, then the next; and again with all others in place.
std::vector<std::uint8_t> least_loaded_paths(const Problem& problem);

// By link, ns that it takes to carry all that goes over it on these paths.
std::vector<double> link_times(const Problem& problem, const std::vector<std::uint8_t>& paths);

} // namespace heddle::schedule
