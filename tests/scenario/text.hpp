// Scenarios as files: one line for each thing, words and key=value, for people to read and change.
#pragma once

#include "tests/scenario/scenario.hpp"

#include <string>
#include <string_view>

namespace heddle::tests {

std::string to_text(const Scenario& scenario);
// Error: the line, and what was expected there.
Result<Scenario> parse_scenario(std::string_view text);

} // namespace heddle::tests
