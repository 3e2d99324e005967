// The smallest largest link load that any choice of paths could reach in a stage, from the cables alone: so many flows must leave
// (or enter) a subtree, and so many cables do. Also between two leaves: so many flows, so many up-paths open to both.
// LIDs do not enter: where they are too few for the up-paths, LidPlan::limit says so.
#pragma once

#include "routing/job_hosts.hpp"
#include "routing/pattern.hpp"
#include "routing/up_paths.hpp"

namespace heddle::routing {

class LoadBound {
 public:
  LoadBound(const Fabric& fabric, const UpPaths& up_paths, const JobHosts& job);
  // At least 1 where any flow leaves its leaf, else 0.
  [[nodiscard]] std::uint32_t of(const Stage& stage);

 private:
  // The subtrees of one height: connected switches up to that level.
  struct Height {
    std::vector<std::uint32_t> subtree; // [local node]
    std::vector<std::uint32_t> cables;  // [subtree] up, out of it
    std::vector<std::uint32_t> leaving; // [subtree], of the stage at hand
    std::vector<std::uint32_t> entering;
  };
  void add_height(const Fabric& fabric, const JobHosts& job, std::uint32_t level);
  [[nodiscard]] std::uint32_t between_leaves(const Stage& stage);

  std::vector<Height> heights_;
  bool uneven_ = false;                // two levels and leaves with different up-paths open: pairs of leaves can bind
  std::vector<std::uint32_t> leaf_;    // [local node], dense
  std::vector<std::uint32_t> common_;  // [leaf][leaf] up-paths open to both
  std::vector<std::uint32_t> between_; // [leaf][leaf] flows of the stage at hand
  std::uint32_t leaves_ = 0;
};

} // namespace heddle::routing
