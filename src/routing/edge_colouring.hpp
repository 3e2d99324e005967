// Colours the edges of a bipartite multigraph so that no two edges at a vertex share a colour.
//
// König (1916): `degree` colours are enough, where degree is the most edges at one vertex. The proof is the algorithm. Add edges
// one by one. Some colour a is free at the left end and some b at the right end, as each has fewer than `degree` coloured edges.
// If none is free at both, follow the path that starts at the right end with its a-edge and alternates a, b, a, ...: it
// enters left vertices by a-edges only, so it never meets our left end, where a is free, and it ends. Swapping a and b along
// it leaves every vertex with distinct colours and frees a at the right end. Now a is free at both ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::routing {

struct Edge {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
};

// Keeps its memory between calls; one object serves all stages of a pattern.
class EdgeColouring {
 public:
  // `colours` must be at least the degree. `wanted[e]` is taken where it is free when edge e's turn comes: fewer swaps.
  // Time: edges * (colours / 64 + length of the paths), the latter at most the number of vertices.
  const std::vector<std::uint32_t>& colour(std::span<const Edge> edges, std::uint32_t vertices, std::uint32_t colours,
                                           std::span<const std::uint32_t> wanted);

 private:
  // One side of the graph: which edge has a colour at a vertex, and which colours are free there.
  struct Side {
    std::vector<std::uint32_t> edge_at; // [vertex][colour], kNone where free
    std::vector<std::uint64_t> free;    // [vertex][word], bit set where free
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void clear(Side& side, std::uint32_t vertices) const;
  [[nodiscard]] bool is_free(const Side& side, std::uint32_t vertex, std::uint32_t colour) const {
    return side.edge_at[std::size_t{vertex} * colours_ + colour] == kNone;
  }
  [[nodiscard]] std::uint32_t free_at_both(const Edge& edge) const;
  [[nodiscard]] std::uint32_t free_at(const Side& side, std::uint32_t vertex) const;
  void occupy(Side& side, std::uint32_t vertex, std::uint32_t colour, std::uint32_t edge) const;
  void release(Side& side, std::uint32_t vertex, std::uint32_t colour) const;
  void swap_path(std::uint32_t right, std::uint32_t a, std::uint32_t b);

  std::span<const Edge> edges_;
  std::uint32_t colours_ = 0;
  std::uint32_t words_ = 0;
  Side left_;
  Side right_;
  std::vector<std::uint32_t> path_;
  std::vector<std::uint32_t> result_;
};

// The most edges at one vertex.
std::uint32_t degree(std::span<const Edge> edges, std::uint32_t vertices);

} // namespace heddle::routing
