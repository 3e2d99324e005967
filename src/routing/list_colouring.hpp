// Colours the edges of a bipartite multigraph where each edge may take only the colours of its own list.
//
// Galvin (1995): lists of `degree` colours are always enough, whatever they contain. The proof is the algorithm. Let c be a
// colouring with colours 0 .. degree-1 (König). A left vertex prefers edges with large c, a right vertex those with small c. For
// each colour in turn, take the uncoloured edges that list it, match them stably (Gale and Shapley), and give the matched ones
// the colour. An edge that lists the colour and is passed over sees an edge preferred at one of its ends coloured, hence gone; of
// these there are at most (degree-1 - c) + c = degree-1, so an edge with `degree` colours on its list is taken at the latest
// with the last of them. Edges with shorter lists may be left over; the caller places them.
#pragma once

#include <functional>

#include "routing/edge_colouring.hpp"

namespace heddle::routing {

inline constexpr std::uint32_t kNoColour = UINT32_MAX;

class ListColouring {
 public:
  // `ranks` is a proper colouring of the edges with few colours (EdgeColouring). Result: a colour per edge, or kNoColour.
  const std::vector<std::uint32_t>& colour(std::span<const Edge> edges, std::uint32_t vertices,
                                           std::span<const std::uint32_t> ranks, std::uint32_t colours,
                                           const std::function<bool(std::uint32_t edge, std::uint32_t colour)>& lists);

 private:
  void match(std::span<const Edge> edges, std::span<const std::uint32_t> ranks, std::uint32_t colour,
             const std::function<bool(std::uint32_t, std::uint32_t)>& lists);

  std::vector<std::vector<std::uint32_t>> at_left_; // uncoloured edges of a left vertex, the most preferred first
  std::vector<std::uint32_t> next_;                 // how far a left vertex has proposed
  std::vector<std::uint32_t> held_;                 // the edge a right vertex holds
  std::vector<std::uint32_t> proposers_;
  std::vector<std::uint32_t> result_;
};

} // namespace heddle::routing
