// Which of a peer's LIDs each process of a job uses: planned for the whole job at join, from what all have published.
// The plan is the same in every process, because all plan from the same.
#pragma once

#include "routing/location.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::job {

// Where on the topology nodes of these names are, for networks that do not know it: a host of the topology is meant by its whole name, by the first
// word of it, or by what stands before its first dot (ibnetdiscover tells of "n17 mlx5_0", launchers of n17 or n17.cluster). Error
// bad_option: the topology cannot be read; unreachable names the first rank whose node is none of its hosts.
Result<std::vector<routing::Location>> locate_by_name(const std::string& topology, std::span<const std::string> nodes);

class PathPlan {
 public:
  // `topology` is a subnet as routing/subnet_text.hpp describes it; hosts have the LIDs that `heddle route tables` gives them. Error
  // bad_option names the option, and what of it does not fit: an unknown method, a file that cannot be read, processes whose
  // LIDs are not the topology's.
  // Processes that plan from the same, as those of a simulated job do, share the plan.
  static Result<std::shared_ptr<const PathPlan>> plan(const std::string& topology, const std::string& method,
                                                      std::span<const routing::Location> locations);

  // Of the destination's LID.
  [[nodiscard]] std::uint32_t offset(std::uint32_t from, std::uint32_t to) const {
    return offsets_[std::size_t{node_of_[from]} * nodes_ + node_of_[to]];
  }

 private:
  static Result<PathPlan> plan_anew(const std::string& topology, const std::string& method,
                                    std::span<const routing::Location> locations);

  std::uint32_t nodes_ = 0;
  std::vector<std::uint32_t> node_of_; // [rank] -> node of the job, in the order of the fabric
  std::vector<std::uint8_t> offsets_;  // [source node * nodes + destination node]
};

} // namespace heddle::job
