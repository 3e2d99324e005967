// What a choice of paths does to the links, found by following the tables hop by hop: this part knows nothing of how the paths
// were chosen. A *hot spot* is a link between switches that carries more than one flow of a stage.
#pragma once

#include "routing/pattern.hpp"
#include "routing/selection.hpp"

namespace heddle::routing {

struct HotSpot {
  std::size_t stage = 0;
  LinkIndex link = 0;
  std::uint32_t load = 0;
};

struct LoadReport {
  std::vector<std::uint32_t> largest; // [stage]; 0 where no flow leaves its leaf
  std::vector<std::uint32_t> bound;   // [stage] what no choice of paths could be below
  std::vector<HotSpot> hot_spots;     // by stage, then link

  [[nodiscard]] std::uint32_t overall() const;
  [[nodiscard]] std::uint32_t overall_bound() const;
};

// unreachable where a pair's LID does not lead to its host, with the two named.
Result<LoadReport> check_load(const Subnet& subnet, const JobHosts& job, const Selection& selection,
                              const Pattern& pattern);

// For each directed link (as Links numbers them) the largest load over all stages.
Result<std::vector<std::uint32_t>> largest_by_link(const Subnet& subnet, const JobHosts& job,
                                                   const Selection& selection, const Pattern& pattern);

} // namespace heddle::routing
