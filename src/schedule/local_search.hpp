// A last look at a plan of few requests: what would come out if some had gone in another order.
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace heddle::schedule {

// Changes the plan's placements and makespan where an order is found that ends sooner; stops at `enough_ns`. The plan must be of a list
// (no engine waits while it could begin something). `kind` is equal for requests of which it does not matter which comes first.
void improve_order(const Problem& problem, const std::vector<std::uint32_t>& kind, double enough_ns, Schedule& plan);

} // namespace heddle::schedule
