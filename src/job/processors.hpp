// The processors that this process may run on. Whether the job has more processes than processors is found in join.cpp, from all cards.
#pragma once

#include "job/card.hpp"

namespace heddle::job {

// Those that this process may run on.
ProcessorSet usable_processors();

// Moves this thread to one of them, by its number among the processes of the machine, and leaves it free to be moved on. Where there are
// more processes than processors, the system may take tens of milliseconds to spread them evenly by itself.
void step_onto_processor(std::uint32_t number);

} // namespace heddle::job
