// The loads of one stage's links while paths are being chosen, and the repair of a choice by moving flows one at a time.
#pragma once

#include "routing/pattern.hpp"
#include "routing/selection.hpp"

namespace heddle::routing {

// Visits the links between switches that a flow passes on the LID at that offset; false where it does not arrive.
template <typename Visit>
bool visit_links(const Subnet& subnet, const Links& links, const JobHosts& job, const Flow& flow, std::uint32_t offset,
                 Visit&& visit) {
  const HostIndex to = job.hosts[flow.to];
  return follow(subnet, job.hosts[flow.from], to, subnet.lids.lid(to, offset), [&](SwitchIndex at, Port port) {
    if (subnet.fabric.switches[at].ports[port].kind == Peer::Kind::a_switch) visit(links.at(at, port));
  });
}

class StageLoads {
 public:
  StageLoads(const Subnet& subnet, const JobHosts& job)
      : subnet_(subnet), job_(job), links_(subnet.fabric), load_(links_.count()), listed_(links_.count()) {}

  // Starts a stage from what `selection` says of its flows. False where one of them does not arrive.
  bool begin(const Stage& stage, const Selection& selection);
  [[nodiscard]] std::uint32_t largest() const;
  // Of the links that the flow passes; 0 inside a leaf.
  [[nodiscard]] std::uint32_t largest_on_path(const Flow& flow, const Selection& selection) const;

  // Gives the flow the offset with the least load on its links. For flows not placed yet.
  void place(const Flow& flow, Selection& selection);

  // Moves flows until no link carries more than `limit`, or moving no longer helps; keeps the best seen. Flows of which
  // `fixed` is true stay. The method is min-conflicts: a flow on an overloaded link takes the offset that overloads least, ties
  // by lot, so that a chain of moves can push the excess to where there is room.
  void repair(const Stage& stage, const std::vector<bool>& fixed, std::uint32_t limit, Selection& selection);

 private:
  bool add(const Flow& flow, std::uint32_t offset, std::int32_t change);
  // How far the flow's links would be past the limit with it on that offset; the flow itself not counted in the loads.
  [[nodiscard]] std::uint32_t excess(const Flow& flow, std::uint32_t offset, std::uint32_t limit) const;
  [[nodiscard]] std::uint32_t total_excess(std::uint32_t limit) const;
  std::uint32_t best_offset(const Flow& flow, std::uint32_t present, std::uint32_t limit);
  std::uint32_t draw(std::uint32_t below);

  const Subnet& subnet_;
  const JobHosts& job_;
  Links links_;
  std::vector<std::uint32_t> load_;
  std::vector<LinkIndex> touched_; // links that carried anything in this stage, each once
  std::vector<bool> listed_;
  std::vector<std::uint32_t> ties_;
  std::uint64_t lot_ = 0x9e3779b97f4a7c15; // the same choice every time
};

} // namespace heddle::routing
