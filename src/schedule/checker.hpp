// Whether a schedule is one: found out from the problem and the answer alone, without any of the code that made it.
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <string>

namespace heddle::schedule {

struct CheckedRules {
  enum class Links : std::uint8_t {
    may_be_shared,
    one_of_a_direction, // two requests of one direction do not overlap
    exclusive,          // no link of any path is used twice at a time
  } links = Links::may_be_shared;
  std::uint32_t diagonal_engines = 0xffff'ffff; // at a time
};

// Empty, or the first thing that is wrong: a request not placed exactly once, an engine or receive engine used twice at a time,
// a link shared against the rules, a request faster than its engine, more bytes through a link or node than fit in the time.
std::string find_fault(const Problem& problem, const Schedule& schedule, const CheckedRules& rules);

} // namespace heddle::schedule
