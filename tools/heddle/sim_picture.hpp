// A run on a simulated fabric as a picture: time across, a line for each engine and link, a bar for each stretch of work in the
// colour of its sender.
#pragma once

#include "heddle/error.hpp"

#include <string>
#include <string_view>

namespace heddle::tool {

// From a trace as `heddle sim --trace` writes it. bad_argument where too many parts took part to be looked at.
Result<std::string> timeline_svg(const std::string& trace, std::string_view title);

} // namespace heddle::tool
