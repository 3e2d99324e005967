// Which machine this is: processes with the same node can share memory.
#pragma once

#include <cstdint>

namespace heddle::job {

// The same number for processes that see the same process ids on the same running system, and for no others.
std::uint64_t node_identity();

} // namespace heddle::job
