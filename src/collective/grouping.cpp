#include "collective/grouping.hpp"

#include <algorithm>
#include <map>

namespace heddle::collective {

Grouping::Grouping(std::span<const std::uint32_t> node_of) {
  for (std::uint32_t rank = 0; rank < node_of.size(); ++rank) {
    if (node_of[rank] >= members_.size()) members_.resize(node_of[rank] + 1);
    auto& members = members_[node_of[rank]];
    seats_.push_back({.node = node_of[rank], .place = static_cast<std::uint32_t>(members.size())});
    members.push_back(rank);
    widest_ = std::max(widest_, static_cast<std::uint32_t>(members.size()));
  }
}

Grouping::Partners Grouping::partners(std::uint32_t rank, std::uint64_t step) const {
  const Seat seat = seats_[rank];
  const auto j = static_cast<std::uint32_t>(step / widest_);
  const auto k = static_cast<std::uint32_t>(step % widest_);
  return {.to = member((seat.node + j) % nodes(), (seat.place + k) % widest_),
          .from = member((seat.node + nodes() - j) % nodes(), (seat.place + widest_ - k) % widest_)};
}

std::vector<std::uint32_t> number_nodes(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> order) {
  std::map<std::uint64_t, std::uint32_t> found; // key -> which node, by first process
  std::vector<std::uint32_t> node_of;
  std::vector<std::uint64_t> place; // by node
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    const auto [at, is_new] = found.try_emplace(keys[rank], static_cast<std::uint32_t>(found.size()));
    if (is_new) place.push_back(order[rank]);
    node_of.push_back(at->second);
  }
  std::vector<std::uint32_t> sorted(place.size());
  for (std::uint32_t node = 0; node < sorted.size(); ++node) sorted[node] = node;
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return place[a] < place[b]; });
  std::vector<std::uint32_t> number(sorted.size());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) number[sorted[i]] = i;
  for (std::uint32_t& node : node_of) node = number[node];
  return node_of;
}

} // namespace heddle::collective
