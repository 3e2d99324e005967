// A fat tree as a picture: every link as thick and as warm as the most flows that it carries at once.
#pragma once

#include "routing/selection.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

// `loads`: of each directed link, as routing::Links numbers them. bad_argument where the tree is too large to be looked at.
Result<std::string> load_svg(const routing::Subnet& subnet, const routing::JobHosts& job,
                             const std::vector<std::uint32_t>& loads, std::string_view title);

} // namespace heddle::tool
