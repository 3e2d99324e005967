// Puts a pattern's outgoing requests onto the engines and paths of their networks: makes the scheduler's problem from what the
// translators say, and the order and engines of the commands from its answer.
#pragma once

#include "pattern/plan.hpp"

#include <heddle/error.hpp>

#include <string>

namespace heddle::pattern {

// Sorts plan.outs into the order of handing over and names their engines, network by network. `in_order`: diagonal requests of
// all processes go along the axes in one order (axis_order.hpp).
Result<void> plan_outs_onto_engines(Plan& plan, const std::string& algorithm, bool in_order);

} // namespace heddle::pattern
