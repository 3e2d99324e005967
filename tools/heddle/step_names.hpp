// Directions on a grid of one to three axes as people write them: `east`, `north-west`, `up`, `south-east-down`.
#pragma once

#include "halo.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace heddle::tool {

std::string name_of(Step step);  // "north-west-up"
std::string brief_of(Step step); // "NWU"

// Nothing where it is none. Parts in any order, small letters.
std::optional<Step> parse_step(std::string_view text);

} // namespace heddle::tool
