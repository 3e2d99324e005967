// Room for the connections of a job under the limit on open files.
#pragma once

#include <heddle/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::base {

// For who serves the job's store. One connection per process, one per host's agent, and a few of our own must fit under the soft limit on
// open files: raises it as far as it may.
void make_room_for_descriptors(std::uint32_t processes, std::size_t hosts = 0);

// Called when all descriptors of our own are open but those for agents: whether as many connections fit beside them. `whose` is for people:
// "the launcher".
Result<void> check_room_for_descriptors(std::uint32_t processes, std::size_t hosts, std::string_view whose);

} // namespace heddle::base
