// The per-pair method, as its report lists it (where the text has `rs_tmp`, `rs_likely` is meant). It starts from the per-node
// table and goes through the shift distances; flows are moved one by one off links that are already used:
//
//   for each shift distance sd:
//     clear the counters; for every flow between leaves: from the first node's leaf it is *used*, else *likely*
//     for s = N-1 down, while s is not on the first node's leaf:
//       if the flow's present root has a used link up or down:
//         for i = 1 .. K-1: root j = (present - i) mod K with both links unused
//           remember the first as likely-idle; take the first that no likely flow wants either
//         if none was taken, take the likely-idle one (or stay)
//       move the flow from likely to used
//
// A heuristic: it leaves hot spots for some node sets (see methods_test.cpp), which colouring does not.
#include <algorithm>

#include "routing/methods.hpp"

namespace heddle::routing {
namespace {

class PairTable {
 public:
  PairTable(std::span<const SwitchIndex> leaves, std::uint32_t k)
      : n_(static_cast<std::uint32_t>(leaves.size())), k_(k), leaf_(leaves), roots_(node_table(leaves, k)) {
    const SwitchIndex last = leaves.empty() ? 0 : *std::ranges::max_element(leaves);
    for (auto* counters : {&up_, &down_, &likely_up_, &likely_down_}) counters->resize((std::size_t{last} + 1) * k);
  }

  std::vector<UpPath> run() {
    for (std::uint32_t sd = 1; sd < n_; ++sd) {
      count(sd);
      for (std::uint32_t s = n_ - 1; leaf_[s] != leaf_[0]; --s) {
        const std::uint32_t d = (s + sd) % n_;
        if (leaf_[s] != leaf_[d]) settle(s, d);
      }
    }
    return std::move(roots_);
  }

 private:
  using Counters = std::vector<std::uint32_t>; // [leaf][root]

  UpPath& root(std::uint32_t s, std::uint32_t d) { return roots_[std::size_t{s} * n_ + d]; }
  std::uint32_t& at(Counters& counters, std::uint32_t node, UpPath root) {
    return counters[std::size_t{leaf_[node]} * k_ + root];
  }

  void count(std::uint32_t sd) {
    for (auto* counters : {&up_, &down_, &likely_up_, &likely_down_}) std::ranges::fill(*counters, 0U);
    for (std::uint32_t s = 0; s < n_; ++s) {
      const std::uint32_t d = (s + sd) % n_;
      if (leaf_[s] == leaf_[d]) continue;
      const bool fixed = leaf_[s] == leaf_[0];
      ++at(fixed ? up_ : likely_up_, s, root(s, d));
      ++at(fixed ? down_ : likely_down_, d, root(s, d));
    }
  }

  void settle(std::uint32_t s, std::uint32_t d) {
    const UpPath present = root(s, d);
    UpPath chosen = present;
    if (at(up_, s, present) > 0 || at(down_, d, present) > 0) chosen = find_idle(s, d, present);
    --at(likely_up_, s, present);
    --at(likely_down_, d, present);
    root(s, d) = chosen;
    ++at(up_, s, chosen);
    ++at(down_, d, chosen);
  }

  UpPath find_idle(std::uint32_t s, std::uint32_t d, UpPath present) {
    UpPath likely_idle = present;
    for (std::uint32_t i = 1; i < k_; ++i) {
      const UpPath j = (present + k_ - i) % k_;
      if (at(up_, s, j) > 0 || at(down_, d, j) > 0) continue;
      if (likely_idle == present) likely_idle = j;
      if (at(likely_up_, s, j) == 0 && at(likely_down_, d, j) == 0) return j;
    }
    return likely_idle;
  }

  std::uint32_t n_;
  std::uint32_t k_;
  std::span<const SwitchIndex> leaf_;
  std::vector<UpPath> roots_;
  Counters up_;
  Counters down_;
  Counters likely_up_;
  Counters likely_down_;
};

} // namespace

std::vector<UpPath> pair_table(std::span<const SwitchIndex> leaves, std::uint32_t k) {
  return PairTable(leaves, k).run();
}

} // namespace heddle::routing
