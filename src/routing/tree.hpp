// Fat trees by name: `K-ary-N-tree[:NODES][,hosts=H][,uplinks=U][,links=P]`.
//   K-ary-N-tree  N levels of 2K-port switches, 2 * K^N hosts: leaves have K hosts and K uplinks, every switch of a level is
//                 linked to K of the next, roots have 2K links down; with N = 1 a single switch with 2K hosts
//   :NODES        only the first NODES hosts, and the switches below the roots that they need
//   hosts=H       H hosts on a leaf instead of K; with H > U the tree is oversubscribed
//   uplinks=U     U uplinks of a leaf instead of K
//   links=P       P cables between any two linked switches: the uplinks of a leaf go to U/P switches; higher ones get P times the ports
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

struct TreeShape {
  std::uint32_t k = 0;
  std::uint32_t levels = 0;
  std::uint32_t nodes = 0;
  std::uint32_t hosts_per_leaf = 0;
  std::uint32_t uplinks = 0;
  std::uint32_t links = 1;

  [[nodiscard]] std::uint64_t largest() const; // hosts of the complete tree
};

// bad_argument says what is wrong with the text and what was expected. What is returned can be built.
Result<TreeShape> parse_tree(std::string_view text);

// The shortest text that parse_tree reads back.
std::string to_text(const TreeShape& shape);

// Hosts host0.., switches leaf0.., middle0.. (from the leaves upwards), root0... Root j is reached from every leaf by the same
// choice of uplinks: its number is that choice in digits, the leaf's uplink first.
Fabric build_tree(const TreeShape& shape);

} // namespace heddle::routing
