// How a process keeps its private memory from peers that may be copying out of it or into it: it closes the gate and waits for those
// inside.
#pragma once

#include "base/shared_words.hpp"

#include <atomic>
#include <cstdint>

namespace heddle::segments {

struct VisitGate {
  std::atomic<std::uint32_t> closed;   // 1: the owner's private memory is its program's again
  std::atomic<std::uint32_t> visitors; // peers that are reading or writing it
};

// A copy out of or into the owner's private memory, for as long as it lives. Either `allowed` says no, or the owner, who leaves
// by wait_for_visitors, waits for its end.
template <typename Memory>
class BasicVisit {
 public:
  explicit BasicVisit(VisitGate& gate) : gate_(gate) {
    Memory::fetch_add(gate_.visitors, 1U, std::memory_order_seq_cst);
    allowed_ = Memory::load(gate_.closed, std::memory_order_seq_cst) == 0;
  }
  BasicVisit(const BasicVisit&) = delete;
  ~BasicVisit() { Memory::fetch_add(gate_.visitors, ~0U, std::memory_order_release); }
  [[nodiscard]] bool allowed() const { return allowed_; }

 private:
  VisitGate& gate_;
  bool allowed_ = false;
};
using Visit = BasicVisit<base::Processor>;
// The owner's side: admits no further visit; whether one is still under way.
template <typename Memory = base::Processor>
void admit_no_visit(VisitGate& gate) {
  Memory::store(gate.closed, 1U, std::memory_order_seq_cst);
}
template <typename Memory = base::Processor>
bool is_visited(const VisitGate& gate) {
  return Memory::load(gate.visitors, std::memory_order_seq_cst) != 0; // not before `closed` is seen by others
}
// Admits no further visit and waits for the end of those under way; for a second at most, since one who died in the middle of
// a visit never ends it.
void wait_for_visitors(VisitGate& gate);

} // namespace heddle::segments
