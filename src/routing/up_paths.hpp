// The up-paths of a fat tree. A *up-path* is a root switch together with which cable to take where several lead towards it; on an
// intact K-ary-2-tree the up-paths are the roots. From any switch an up-path names one port up, and from its root one port down per leaf,
// so source, destination and up-path fix the whole path. Found on the graph as it is: failed cables are simply not there.
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

using UpPath = std::uint32_t;

class UpPaths {
 public:
  explicit UpPaths(const Fabric& fabric);

  [[nodiscard]] std::uint32_t count() const { return roots_ * variants_; }
  [[nodiscard]] SwitchIndex root(UpPath up_path) const { return first_root_ + up_path / variants_; }

  // The port that leads from the switch towards the up-path's root; 0 where the root is not above, or is the switch itself.
  [[nodiscard]] Port up_port(SwitchIndex from, UpPath up_path) const {
    return up_[std::size_t{from} * count() + up_path];
  }
  // True where every step from the leaf to the up-path's root is there.
  [[nodiscard]] bool open(SwitchIndex leaf, UpPath up_path) const { return up_port(leaf, up_path) != 0; }
  // Which of several equal cables between `level` and the one above the up-path takes.
  [[nodiscard]] std::uint32_t cable(std::uint32_t level, UpPath up_path) const {
    return up_path % variants_ / divisor_[level] % radix_[level];
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
  std::vector<Port> up_;               // [switch][up-path]
};

} // namespace heddle::routing
