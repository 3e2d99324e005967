// How a process keeps its private memory from peers that may be copying out of it or into it: it closes the gate and waits until
// the accesses under way have ended.
#pragma once

#include "base/shared_words.hpp"

#include <atomic>
#include <cstdint>

namespace heddle::segments {

struct AccessGate {
  std::atomic<std::uint32_t> closed;   // 1: the owner's private memory is its program's again
  std::atomic<std::uint32_t> accesses; // under way: peers that are reading or writing it
};

// A copy out of or into the owner's private memory, for as long as it lives. Either `allowed` says no, or the owner, who leaves
// by close_and_drain, waits for its end.
template <typename Memory>
class BasicGatedAccess {
 public:
  explicit BasicGatedAccess(AccessGate& gate) : gate_(gate) {
    Memory::fetch_add(gate_.accesses, 1U, std::memory_order_seq_cst);
    allowed_ = Memory::load(gate_.closed, std::memory_order_seq_cst) == 0;
  }
  BasicGatedAccess(const BasicGatedAccess&) = delete;
  ~BasicGatedAccess() { Memory::fetch_add(gate_.accesses, ~0U, std::memory_order_release); }
  [[nodiscard]] bool allowed() const { return allowed_; }

 private:
  AccessGate& gate_;
  bool allowed_ = false;
};
using GatedAccess = BasicGatedAccess<base::Processor>;
// The owner's side: no further access is allowed; whether one is still under way.
template <typename Memory = base::Processor>
void close_gate(AccessGate& gate) {
  Memory::store(gate.closed, 1U, std::memory_order_seq_cst);
}
template <typename Memory = base::Processor>
bool in_use(const AccessGate& gate) {
  return Memory::load(gate.accesses, std::memory_order_seq_cst) != 0; // not before `closed` is seen by others
}
// Closes the gate and waits for the accesses under way; for a second at most, since a process that died in the middle of one
// never ends it.
void close_and_drain(AccessGate& gate);

} // namespace heddle::segments
