// What the schedules of each algorithm promise beyond being sound, for tests.
#pragma once

#include "schedule/checker.hpp"

#include <string_view>

namespace heddle::schedule {

inline CheckedRules rules_of(std::string_view algorithm) {
  CheckedRules rules;
  if (algorithm.starts_with("bottom-left")) rules.links = CheckedRules::Links::one_of_a_direction;
  if (algorithm == "bottom-left-1") rules.diagonal_engines = 1;
  if (algorithm == "bottom-left-2") rules.diagonal_engines = 2;
  return rules;
}

} // namespace heddle::schedule
