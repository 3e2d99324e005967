// A schedule as a picture: time down, engines across, a letter or colour for each direction.
#pragma once

#include "halo.hpp"
#include "schedule/schedule.hpp"

#include <string>
#include <vector>

namespace heddle::tool {

std::string schedule_text(const std::vector<HaloPut>& puts, const schedule::Schedule& schedule);
std::string schedule_svg(const std::vector<HaloPut>& puts, const schedule::Schedule& schedule,
                         const std::string& title);

} // namespace heddle::tool
