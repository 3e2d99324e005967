#include "routing/up_paths.hpp"

#include <algorithm>

namespace heddle::routing {

UpPaths::UpPaths(const Fabric& fabric)
    : first_root_(fabric.first_root()),
      roots_(fabric.roots()),
      radix_(fabric.levels, 1),
      divisor_(fabric.levels, 1),
      above_(fabric.switches.size() * roots_),
      up_() {
  find_roots_above(fabric);
  for (SwitchIndex from = 0; from < first_root_; ++from) {
    std::uint32_t& radix = radix_[fabric.switches[from].level];
    for (std::uint32_t root = 0; root < roots_; ++root)
      radix = std::max(radix, static_cast<std::uint32_t>(ports_towards(fabric, from, root).size()));
  }
  for (std::uint32_t level = 0; level < fabric.levels; ++level) {
    divisor_[level] = variants_;
    variants_ *= radix_[level];
  }
  choose_ports(fabric);
}

// From the top down, since switches are ordered by level: a root is above whatever has a cable up to something below it.
void UpPaths::find_roots_above(const Fabric& fabric) {
  for (std::uint32_t root = 0; root < roots_; ++root) above_[(std::size_t{first_root_} + root) * roots_ + root] = true;
  for (SwitchIndex from = first_root_; from-- > 0;)
    for (const Peer& peer : fabric.switches[from].ports)
      if (fabric.is_up(fabric.switches[from].level, peer))
        for (std::uint32_t root = 0; root < roots_; ++root)
          if (above(peer.index, root)) above_[std::size_t{from} * roots_ + root] = true;
}

std::vector<Port> UpPaths::ports_towards(const Fabric& fabric, SwitchIndex from, std::uint32_t root) const {
  std::vector<Port> found;
  const Switch& one = fabric.switches[from];
  for (std::size_t port = 1; port < one.ports.size(); ++port)
    if (fabric.is_up(one.level, one.ports[port]) && above(one.ports[port].index, root))
      found.push_back(static_cast<Port>(port));
  return found;
}

void UpPaths::choose_ports(const Fabric& fabric) {
  up_.assign(fabric.switches.size() * count(), 0);
  for (SwitchIndex from = 0; from < first_root_; ++from)
    for (std::uint32_t root = 0; root < roots_; ++root) {
      const std::vector<Port> ports = ports_towards(fabric, from, root);
      if (ports.empty()) continue;
      for (std::uint32_t variant = 0; variant < variants_; ++variant) {
        const UpPath up_path = root * variants_ + variant;
        up_[std::size_t{from} * count() + up_path] = ports[cable(fabric.switches[from].level, up_path) % ports.size()];
      }
    }
}

} // namespace heddle::routing
