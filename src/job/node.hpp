// Which machine this is: processes with the same node can share memory.
#pragma once

#include "base/environment.hpp"

#include <cstdint>

namespace heddle::job {

// The same number for processes that see the same process ids on the same running system, and for no others. Where the launcher
// counts machines by names of its own (HEDDLE_NODE), those of another name are on another machine as well.
std::uint64_t node_identity(const base::Environment& environment);

} // namespace heddle::job
