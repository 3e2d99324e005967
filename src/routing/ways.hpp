// The ways up a fat tree. A *way* is a root switch together with which cable to take where several lead towards it; on an
// intact K-ary-2-tree the ways are the roots. From any switch a way names one port up, and from its root one port down per leaf,
// so source, destination and way fix the whole path. Found on the graph as it is: failed cables are simply not there.
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

using Way = std::uint32_t;

class Ways {
 public:
  explicit Ways(const Fabric& fabric);

  [[nodiscard]] std::uint32_t count() const { return roots_ * variants_; }
  [[nodiscard]] SwitchIndex root(Way way) const { return first_root_ + way / variants_; }

  // The port that leads from the switch towards the way's root; 0 where the root is not above, or is the switch itself.
  [[nodiscard]] Port up_port(SwitchIndex from, Way way) const { return up_[std::size_t{from} * count() + way]; }
  // True where every step from the leaf to the way's root is there.
  [[nodiscard]] bool open(SwitchIndex leaf, Way way) const { return up_port(leaf, way) != 0; }
  // Which of several equal cables between `level` and the one above the way takes.
  [[nodiscard]] std::uint32_t cable(std::uint32_t level, Way way) const {
    return way % variants_ / divisor_[level] % radix_[level];
  }

 private:
  [[nodiscard]] bool above(SwitchIndex from, std::uint32_t root) const {
    return above_[std::size_t{from} * roots_ + root];
  }
  void find_roots_above(const Fabric& fabric);
  void choose_ports(const Fabric& fabric);
  [[nodiscard]] std::vector<Port> ports_towards(const Fabric& fabric, SwitchIndex from, std::uint32_t root) const;

  SwitchIndex first_root_;
  std::uint32_t roots_;
  std::uint32_t variants_ = 1;
  std::vector<std::uint32_t> radix_;   // per level: most cables from a switch towards one root
  std::vector<std::uint32_t> divisor_; // per level: product of the radices below
  std::vector<bool> above_;            // [switch][root]
  std::vector<Port> up_;               // [switch][way]
};

} // namespace heddle::routing
