#include "schedule/algorithms.hpp"

#include "base/nearest.hpp"

#include <array>
#include <string>

namespace heddle::schedule {

namespace {

struct Entry {
  std::string_view name;
  Result<Schedule> (*run)(const Problem&);
};

template <std::uint32_t Engines>
Result<Schedule> in_turn(const Problem& problem) {
  return round_robin(problem, Engines);
}
template <std::uint32_t Engines>
Result<Schedule> packed(const Problem& problem) {
  return bottom_left(problem, {.diagonal_engines = Engines});
}

constexpr std::array kAlgorithms{
    Entry{"immediate", [](const Problem& problem) -> Result<Schedule> { return immediate(problem); }},
    Entry{"round-robin-1", in_turn<1>},
    Entry{"round-robin-2", in_turn<2>},
    Entry{"round-robin-4", in_turn<4>},
    Entry{"bottom-left-1", packed<1>},
    Entry{"bottom-left-2", packed<2>},
    Entry{"bottom-left-4", packed<4>},
    Entry{"bottom-left-seeded",
          [](const Problem& problem) -> Result<Schedule> { return bottom_left(problem, {.queue_cost = true}); }},
    Entry{"sharing", [](const Problem& problem) -> Result<Schedule> { return sharing(problem); }},
    Entry{"exact",
          [](const Problem& problem) -> Result<Schedule> {
            auto found = exact(problem);
            if (!found) return std::unexpected(std::move(found.error()));
            return std::move(found->schedule);
          }},
};

} // namespace

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kAlgorithms) names.push_back(entry.name);
  return names;
}

Result<Schedule> run_algorithm(std::string_view name, const Problem& problem) {
  for (const Entry& entry : kAlgorithms)
    if (entry.name == name) return entry.run(problem);
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "no scheduling algorithm is called '" + std::string(name) + "', did you mean " +
                                       std::string(base::nearest(name, algorithm_names())) + "?"});
}

} // namespace heddle::schedule
