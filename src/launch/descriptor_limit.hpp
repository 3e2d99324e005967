// Room for the connections of a job under the limit on open files.
#pragma once

#include <heddle/error.hpp>

#include <cstdint>

namespace heddle::launch {

// One connection per process and a few of our own must fit under the soft limit on open files: raises it as far as it may.
void make_room_for_descriptors(std::uint32_t processes);

// Called when all descriptors of our own are open: whether as many connections as there are processes fit beside them.
Result<void> check_room_for_descriptors(std::uint32_t processes);

} // namespace heddle::launch
