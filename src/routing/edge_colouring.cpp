#include "routing/edge_colouring.hpp"

#include <algorithm>
#include <bit>

namespace heddle::routing {

std::uint32_t degree(std::span<const Edge> edges, std::uint32_t vertices) {
  std::vector<std::uint32_t> left(vertices);
  std::vector<std::uint32_t> right(vertices);
  std::uint32_t most = 0;
  for (const Edge& edge : edges) most = std::max({most, ++left[edge.left], ++right[edge.right]});
  return most;
}

void EdgeColouring::clear(Side& side, std::uint32_t vertices) const {
  side.edge_at.assign(std::size_t{vertices} * colours_, kNone);
  side.free.assign(std::size_t{vertices} * words_, ~std::uint64_t{0});
  if (colours_ % 64 == 0) return;
  const std::uint64_t last = (std::uint64_t{1} << colours_ % 64) - 1;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) side.free[(vertex + 1) * words_ - 1] = last;
}

std::uint32_t EdgeColouring::free_at_both(const Edge& edge) const {
  for (std::uint32_t word = 0; word < words_; ++word) {
    const std::uint64_t common =
        left_.free[std::size_t{edge.left} * words_ + word] & right_.free[std::size_t{edge.right} * words_ + word];
    if (common != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(common));
  }
  return kNone;
}

std::uint32_t EdgeColouring::free_at(const Side& side, std::uint32_t vertex) const {
  for (std::uint32_t word = 0; word < words_; ++word) {
    const std::uint64_t free = side.free[std::size_t{vertex} * words_ + word];
    if (free != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(free));
  }
  return kNone;
}

void EdgeColouring::occupy(Side& side, std::uint32_t vertex, std::uint32_t colour, std::uint32_t edge) const {
  side.edge_at[std::size_t{vertex} * colours_ + colour] = edge;
  side.free[std::size_t{vertex} * words_ + colour / 64] &= ~(std::uint64_t{1} << colour % 64);
}

void EdgeColouring::release(Side& side, std::uint32_t vertex, std::uint32_t colour) const {
  side.edge_at[std::size_t{vertex} * colours_ + colour] = kNone;
  side.free[std::size_t{vertex} * words_ + colour / 64] |= std::uint64_t{1} << colour % 64;
}

void EdgeColouring::swap_path(std::uint32_t right, std::uint32_t a, std::uint32_t b) {
  path_.clear();
  std::uint32_t edge = right_.edge_at[std::size_t{right} * colours_ + a];
  for (bool at_right = true; edge != kNone; at_right = !at_right) {
    path_.push_back(edge);
    edge = at_right ? left_.edge_at[std::size_t{edges_[edge].left} * colours_ + b]
                    : right_.edge_at[std::size_t{edges_[edge].right} * colours_ + a];
  }
  for (const std::uint32_t on_path : path_) {
    release(left_, edges_[on_path].left, result_[on_path]);
    release(right_, edges_[on_path].right, result_[on_path]);
  }
  for (const std::uint32_t on_path : path_) {
    result_[on_path] = result_[on_path] == a ? b : a;
    occupy(left_, edges_[on_path].left, result_[on_path], on_path);
    occupy(right_, edges_[on_path].right, result_[on_path], on_path);
  }
}

const std::vector<std::uint32_t>& EdgeColouring::colour(std::span<const Edge> edges, std::uint32_t vertices,
                                                        std::uint32_t colours, std::span<const std::uint32_t> wanted) {
  edges_ = edges;
  colours_ = colours;
  words_ = (colours + 63) / 64;
  clear(left_, vertices);
  clear(right_, vertices);
  result_.assign(edges.size(), kNone);
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const Edge& edge = edges[e];
    std::uint32_t chosen = wanted.empty() ? kNone : wanted[e];
    if (chosen >= colours || !is_free(left_, edge.left, chosen) || !is_free(right_, edge.right, chosen))
      chosen = free_at_both(edge);
    if (chosen == kNone) {
      chosen = free_at(left_, edge.left);
      swap_path(edge.right, chosen, free_at(right_, edge.right));
    }
    result_[e] = chosen;
    occupy(left_, edge.left, chosen, e);
    occupy(right_, edge.right, chosen, e);
  }
  return result_;
}

} // namespace heddle::routing
