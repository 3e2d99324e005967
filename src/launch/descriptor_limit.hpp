// Room for the connections of a job under the limit on open files.
#pragma once

#include <heddle/error.hpp>

#include <cstddef>
#include <cstdint>

namespace heddle::launch {

// One connection per process, one per host's agent, and a few of our own must fit under the soft limit on open files: raises it as far as
// it may.
void make_room_for_descriptors(std::uint32_t processes, std::size_t hosts);

// Called when all descriptors of our own are open but those for agents: whether as many connections fit beside them.
Result<void> check_room_for_descriptors(std::uint32_t processes, std::size_t hosts);

} // namespace heddle::launch
