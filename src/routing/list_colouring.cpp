#include "routing/list_colouring.hpp"

#include <algorithm>

namespace heddle::routing {

const std::vector<std::uint32_t>& ListColouring::colour(
    std::span<const Edge> edges, std::uint32_t vertices, std::span<const std::uint32_t> ranks, std::uint32_t colours,
    const std::function<bool(std::uint32_t edge, std::uint32_t colour)>& lists) {
  result_.assign(edges.size(), kNoColour);
  at_left_.resize(vertices);
  for (auto& list : at_left_) list.clear();
  for (std::uint32_t e = 0; e < edges.size(); ++e) at_left_[edges[e].left].push_back(e);
  for (auto& list : at_left_) std::ranges::sort(list, std::greater{}, [&](std::uint32_t e) { return ranks[e]; });
  for (std::uint32_t one = 0; one < colours; ++one) {
    next_.assign(vertices, 0);
    held_.assign(vertices, kNoColour);
    match(edges, ranks, one, lists);
    for (const std::uint32_t edge : held_)
      if (edge != kNoColour) result_[edge] = one;
    for (const std::uint32_t edge : held_)
      if (edge != kNoColour) std::erase(at_left_[edges[edge].left], edge);
  }
  return result_;
}

// Left vertices propose their edges in order; a right vertex holds the best so far and sends the other back to propose on.
void ListColouring::match(std::span<const Edge> edges, std::span<const std::uint32_t> ranks, std::uint32_t colour,
                          const std::function<bool(std::uint32_t, std::uint32_t)>& lists) {
  proposers_.clear();
  for (std::uint32_t left = 0; left < at_left_.size(); ++left)
    if (!at_left_[left].empty()) proposers_.push_back(left);
  while (!proposers_.empty()) {
    const std::uint32_t left = proposers_.back();
    const auto& offers = at_left_[left];
    std::uint32_t& next = next_[left];
    while (next < offers.size() && !lists(offers[next], colour)) ++next;
    if (next == offers.size()) {
      proposers_.pop_back();
      continue;
    }
    const std::uint32_t edge = offers[next++];
    std::uint32_t& held = held_[edges[edge].right];
    if (held != kNoColour && ranks[held] < ranks[edge]) continue; // refused: this left vertex proposes its next
    proposers_.pop_back();
    if (held != kNoColour) proposers_.push_back(edges[held].left);
    held = edge;
  }
}

} // namespace heddle::routing
