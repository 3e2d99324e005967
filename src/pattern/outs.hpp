// What this process will send in every round, made from the answers of its partners.
#pragma once

#include "engine/engine.hpp"
#include "pattern/first_error.hpp"
#include "pattern/plan.hpp"

#include <cstdint>

namespace heddle::pattern {

// Adds the out of an item that its target has answered; notes why there is none. What is written by it must stay inside what
// the answer names.
void adopt(Plan& plan, const Partner& partner, std::uint32_t item, const Answer& answer, bool barriers,
           FirstError& error);
// Of partners' lines and of outs, where they are direct memory of this process.
void open_direct_memory(Plan& plan);

} // namespace heddle::pattern
