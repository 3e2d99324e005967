// What a launcher says to the processes of a job by their environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "auth/secret.hpp"
#include "base/environment.hpp"

namespace heddle::launch {

using Variables = std::vector<base::Environment::Variable>;

// Without HEDDLE_RANK, which each process has for itself.
Variables job_variables(std::uint32_t size, const std::string& job, const std::string& store,
                        const auth::Secret& secret);

// This process's environment, with these in the place of its own; never its HEDDLE_RANK, nor what another launcher has said to it.
Variables with_variables(const Variables& given);

// Those of this process that a job on other machines gets: all of HEDDLE_, and those named.
Variables passed_on(const std::vector<std::string>& names);

} // namespace heddle::launch
