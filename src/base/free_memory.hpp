// How much memory this process could still have, asked before much of it is taken: the kernel says no by killing programs.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::base {

// The least that the limit of the address space, the memory limits of the process's control groups and the machine itself leave.
// What cannot be found out does not count. `root` is where /proc and /sys are looked for.
std::uint64_t free_memory(const std::string& root = "");

// Whether that much may be taken: nearly all that is free is not, since others need some, too.
bool memory_suffices(std::uint64_t bytes);

} // namespace heddle::base
