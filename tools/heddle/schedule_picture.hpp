// Schedules as pictures. As text: time down, engines across. As SVG: time across, a row for each engine, every put with its name.
#pragma once

#include "plan_tasks.hpp"
#include "schedule/schedule.hpp"

#include <span>
#include <string>
#include <string_view>

namespace heddle::tool {

std::string schedule_text(const PlanTask& task, const schedule::Schedule& schedule);

// Schedules one below the other, as many as tasks. bad_argument where they are too many to look at.
Result<std::string> schedules_svg(std::span<const PlanTask> tasks, std::span<const schedule::Schedule> schedules,
                                  std::string_view title);

} // namespace heddle::tool
