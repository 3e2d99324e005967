// Whether a simulated job can be what its setup says: looked at before anything is built, so that a wrong number costs an error of
// one line and neither memory nor a run without end.
#pragma once

#include <heddle/simulation.hpp>

#include <cstdint>
#include <string>

namespace heddle::simulation {

// Everything but what depends on the fabric. Error bad_argument says which member is wrong, and what was expected.
Result<void> check_setup(const Setup& setup);

// Refuses what this machine, or this process's limit, has no memory for. `what` needs it: "400 peers".
Result<void> check_memory(const std::string& what, std::uint64_t bytes);

// As much as that many processes need at least, before they exchange anything: each knows all others.
std::uint64_t least_memory(std::uint64_t peers);

} // namespace heddle::simulation
