#include "sim/infiniband.hpp"

#include <algorithm>
#include <limits>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

constexpr std::uint64_t kMostPlaces = kLargestUnicastLid; // no more nodes can have a LID
constexpr std::uint64_t kMostEntries = 1 << 25;           // of all tables: 64 MiB, a second or two to check

std::uint64_t power(std::uint64_t base, std::uint32_t exponent) {
  std::uint64_t result = 1;
  for (std::uint32_t i = 0; i < exponent; ++i) {
    if (base != 0 && result > std::numeric_limits<std::uint64_t>::max() / base) {
      return std::numeric_limits<std::uint64_t>::max();
    }
    result *= base;
  }
  return result;
}

std::uint32_t small_power(std::uint32_t base, std::uint32_t exponent) {
  return static_cast<std::uint32_t>(power(base, exponent));
}

std::string name_of(const Tree& tree) {
  return std::to_string(tree.arity) + "-ary-" + std::to_string(tree.levels) + "-tree";
}

// A subtree of height h has arity^(h-1) switches at its top. The switch of level l with index i is number t = i mod arity^l of
// the top of subtree i / arity^l of height l + 1; its j-th uplink leads to number t + j * arity^l above, so that the tops of all
// children of a subtree are joined pairwise alike.
void connect_levels(const Tree& tree, Fabric& fabric, Rate rate, Picoseconds delay) {
  for (std::uint32_t level = 0; level + 1 < tree.levels; ++level) {
    const std::uint32_t tops = small_power(tree.arity, level);
    const bool below_roots = level + 2 == tree.levels;
    for (std::uint32_t i = 0; i < tree.switches_at(level); ++i) {
      const std::uint32_t subtree = i / tops;
      const std::uint32_t parent = below_roots ? 0 : subtree / tree.arity;
      const std::uint32_t child = below_roots ? subtree : subtree % tree.arity;
      for (std::uint32_t up = 0; up < tree.arity; ++up) {
        const std::uint32_t above = parent * tops * tree.arity + i % tops + tops * up;
        fabric.connect(switch_end(tree.first_switch(level) + i, tree.arity + up),
                       switch_end(tree.first_switch(level + 1) + above, child), rate, delay);
      }
    }
  }
}

// What the way down from the switches of one level depends on, worked out once for all of them.
struct Level {
  std::uint32_t arity;
  std::uint32_t tops;   // arity^level: switches at the top of a subtree
  std::uint32_t below;  // leaves under a child
  std::uint32_t number; // 0 = leaves
  bool single;          // the only switch there is
  bool root;

  Level(const Tree& tree, std::uint32_t level)
      : arity(tree.arity),
        tops(small_power(tree.arity, level)),
        below(level == 0 ? 1 : small_power(tree.arity, level - 1)),
        number(level),
        single(tree.levels == 1),
        root(level + 1 == tree.levels) {}

  // Towards a node below switch `index` of this level, or kNoPort where the node is elsewhere.
  [[nodiscard]] std::uint16_t way_down(std::uint32_t index, std::uint32_t node) const {
    if (single) return static_cast<std::uint16_t>(node);
    const std::uint32_t leaf = node / arity;
    if (number == 0) return leaf == index ? static_cast<std::uint16_t>(node % arity) : kNoPort;
    if (root) return static_cast<std::uint16_t>(leaf / below);
    return leaf / tops == index / tops ? static_cast<std::uint16_t>(leaf / below % arity) : kNoPort;
  }
};

Result<void> check(const InfinibandParameters& given) {
  if (given.tree.arity < 1 || given.tree.levels < 1) return refuse("a tree needs an arity and levels of at least 1");
  if (given.tree.places() > kMostPlaces) {
    return refuse("a " + name_of(given.tree) + " has more places than there are LIDs (" + std::to_string(kMostPlaces) +
                  ")");
  }
  if (given.nodes > given.tree.places()) {
    return refuse("a " + name_of(given.tree) + " has places for " + std::to_string(given.tree.places()) +
                  " nodes, not for " + std::to_string(given.nodes));
  }
  if (given.lmc > kLargestLmc) {
    return refuse("lmc " + std::to_string(given.lmc) + " is out of range: 0 to " + std::to_string(kLargestLmc));
  }
  const auto nodes = given.nodes == 0 ? static_cast<std::uint32_t>(given.tree.places()) : given.nodes;
  if (base_lid(nodes, given.lmc) - 1 > kLargestUnicastLid) {
    return refuse(std::to_string(nodes) + " nodes with lmc " + std::to_string(given.lmc) + " need " +
                      std::to_string(base_lid(nodes, given.lmc)) + " LIDs, and there are 49151",
                  "a smaller lmc");
  }
  const Tree& tree = given.tree;
  if (!given.lids.spread && (1U << given.lmc) < tree.switches_at(tree.levels - 1)) {
    return refuse("lids=report needs a LID for every root of a " + name_of(tree) + ", and lmc " +
                      std::to_string(given.lmc) + " gives a node " + std::to_string(1U << given.lmc) + " for " +
                      std::to_string(tree.switches_at(tree.levels - 1)),
                  "a larger lmc, or lids=conventional");
  }
  const std::uint64_t switches = std::uint64_t{tree.first_switch(tree.levels - 1)} + tree.switches_at(tree.levels - 1);
  if (switches * base_lid(nodes, given.lmc) > kMostEntries) {
    return refuse("the tables of a " + name_of(tree) + " with " + std::to_string(nodes) + " nodes and lmc " +
                      std::to_string(given.lmc) + " have more than " + std::to_string(kMostEntries) + " entries",
                  "fewer levels or nodes");
  }
  return {};
}

} // namespace

std::uint64_t Tree::places() const {
  const std::uint64_t half = power(arity, levels);
  return half > std::numeric_limits<std::uint64_t>::max() / 2 ? half : 2 * half;
}

std::uint32_t Tree::switches_at(std::uint32_t level) const {
  const std::uint32_t roots = small_power(arity, levels - 1);
  return level + 1 == levels ? roots : 2 * roots;
}

std::uint32_t Tree::first_switch(std::uint32_t level) const {
  return level * 2 * small_power(arity, levels - 1);
}

Tables lid_tables(const Tree& tree, std::uint32_t nodes, std::uint32_t lmc, const routing::LidRule& rule) {
  Tables tables;
  tables.lids = base_lid(nodes, lmc);
  tables.owner.assign(tables.lids, kNone);
  const std::uint32_t roots = tree.switches_at(tree.levels - 1);
  const std::uint32_t lids_each = std::min(1U << lmc, roots);
  std::vector<std::uint32_t> root_of; // [node][offset]
  for (std::uint32_t node = 0; node < nodes; ++node) {
    tables.base.push_back(base_lid(node, lmc));
    std::fill_n(tables.owner.begin() + tables.base.back(), lids_each, node);
    for (std::uint32_t offset = 0; offset < lids_each; ++offset) root_of.push_back(rule.up_path(node, offset, roots));
  }
  tables.ports.assign(std::size_t{tree.first_switch(tree.levels - 1) + roots} * tables.lids, kNoPort);
  for (std::uint32_t number = 0; number < tree.levels; ++number) {
    const Level level(tree, number);
    for (std::uint32_t i = 0; i < tree.switches_at(number); ++i) {
      std::uint16_t* const table = &tables.ports[std::size_t{tree.first_switch(number) + i} * tables.lids];
      const std::uint32_t* root = root_of.data();
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint16_t down = level.way_down(i, node);
        for (std::uint32_t offset = 0; offset < lids_each; ++offset, ++root) {
          const std::uint32_t up = tree.arity + *root / level.tops % tree.arity;
          table[tables.base[node] + offset] = down == kNoPort ? static_cast<std::uint16_t>(up) : down;
        }
      }
    }
  }
  return tables;
}

Result<Fabric> infiniband(const InfinibandParameters& given) {
  if (auto good = check(given); !good) return std::unexpected(std::move(good).error());
  Fabric fabric;
  const Tree& tree = given.tree;
  fabric.nodes = given.nodes == 0 ? static_cast<std::uint32_t>(tree.places()) : given.nodes;
  fabric.name = "infiniband:" + name_of(tree) + ":" + std::to_string(fabric.nodes);
  const std::uint32_t switches = tree.first_switch(tree.levels - 1) + tree.switches_at(tree.levels - 1);
  fabric.switches.assign(switches, {2 * tree.arity, given.switch_delay});
  const Picoseconds delay{given.cable_metres * kPicosecondsPerMetre};
  const std::uint32_t per_leaf = tree.levels == 1 ? 2 * tree.arity : tree.arity;
  for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
    fabric.connect(node_end(node), switch_end(node / per_leaf, node % per_leaf), given.rate, delay);
  }
  connect_levels(tree, fabric, given.rate, delay);
  fabric.interface.send_engines = given.send_engines;
  fabric.interface.startup = given.startup;
  fabric.interface.send_latency = given.send_latency;
  fabric.interface.receive_latency = given.receive_latency;
  fabric.interface.send.rate = given.rate;
  fabric.interface.read_bus.rate = given.bus;
  fabric.interface.write_bus.rate = given.bus;
  fabric.packets = {.mtu = given.mtu,
                    .header_bytes = given.header_bytes,
                    .lanes = given.lanes,
                    .buffer_bytes = given.buffer_bytes,
                    .switching = given.switching};
  fabric.tables = lid_tables(tree, fabric.nodes, given.lmc, given.lids);
  return fabric;
}

} // namespace heddle::sim
