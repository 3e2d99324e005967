// Which machine this is: processes with the same node can share memory.
#pragma once

#include "base/environment.hpp"

#include <cstdint>
#include <string_view>

namespace heddle::job {

// The same number for processes that see the same process ids on the same running system, and for no others. Where the launcher
// counts machines by names of its own (HEDDLE_NODE), those of another name are on another machine as well.
// So are those whom a launcher of others' tells apart; `told` is its word for this node, which may be empty.
std::uint64_t node_identity(const base::Environment& environment, std::string_view told);

} // namespace heddle::job
