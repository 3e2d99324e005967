// The halo exchange of SCALE-LES3 as a problem for the scheduler, on the simulated Tofu.
#pragma once

#include "halo.hpp"

namespace heddle::tool {

// With what the translator of the simulated Tofu says of itself.
Result<schedule::Problem> halo_on_tofu(const std::vector<HaloPut>& puts, std::string_view fabric = "tofu:4x1x1");

} // namespace heddle::tool
