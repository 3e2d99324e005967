// Halo exchanges as problems for the scheduler, on the simulated Tofu.
#pragma once

#include "halo.hpp"

namespace heddle::tool {

inline constexpr std::string_view kSmallTofu = "tofu:4x1x1";

// With what the translator of the simulated Tofu says of itself. Error: the text is no tofu.
Result<schedule::Problem> grid_on_tofu(std::span<const StepPut> puts, std::string_view fabric);
Result<schedule::Problem> halo_on_tofu(const std::vector<HaloPut>& puts, std::string_view fabric = kSmallTofu);

} // namespace heddle::tool
