// Which processes of a job share a node, and who exchanges with whom at which step of the 2-level ring (Naruse et al.,
// "Performance evaluation of all-to-all ..."): over the node distances j = 0, 1, ..., and within each over the distances k
// of processes within a node,
//     process p of node c sends to process (p + k) mod P of node (c + j) mod C, and receives from the mirror.
// P is the largest number of processes on a node. Where a node has fewer, partners that are not there are left out: every
// ordered pair still meets at exactly one step, and nobody has more than one partner each way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::collective {

inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};

class Grouping {
 public:
  // node_of[rank]: the number of its node, 0 .. C-1 without a gap, in the order of the network, in which node distances are
  // counted. None: nobody.
  explicit Grouping(std::span<const std::uint32_t> node_of);

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] std::uint32_t widest() const { return widest_; }
  [[nodiscard]] std::uint64_t steps() const { return std::uint64_t{nodes()} * widest_; }

  struct Partners {
    std::uint32_t to = kNobody;
    std::uint32_t from = kNobody;
  };
  // Step 0 is the process with itself.
  [[nodiscard]] Partners partners(std::uint32_t rank, std::uint64_t step) const;

 private:
  [[nodiscard]] std::uint32_t member(std::uint32_t node, std::uint32_t place) const {
    return place < members_[node].size() ? members_[node][place] : kNobody;
  }

  struct Seat {
    std::uint32_t node = 0;
    std::uint32_t place = 0; // among the processes of the node
  };
  std::vector<Seat> seats_;                         // by rank
  std::vector<std::vector<std::uint32_t>> members_; // ranks by node
  std::uint32_t widest_ = 0;
};

// Numbers nodes for a Grouping: equal keys are one node; nodes in ascending order of what `order` says of their processes, and
// where that is equal as well, in the order of their first process.
std::vector<std::uint32_t> number_nodes(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> order);

} // namespace heddle::collective
