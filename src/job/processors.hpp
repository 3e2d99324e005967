#pragma once

#include "job/card.hpp"

namespace heddle::job {

// Those that this process may run on.
ProcessorSet usable_processors();

} // namespace heddle::job
