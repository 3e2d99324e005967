// Private memory is not touched any more once its owner has left.
#include "segments/segment.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

namespace heddle::memory_order {
namespace {

// A peer accesses private memory while its owner leaves and gives the memory back.
class AccessProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [] {},
            .threads = {[this] {
                          segments::close_gate<ModelMemory>(gate_);
                          assume(!segments::in_use<ModelMemory>(gate_));
                          ModelMemory::plain_store(memory(), 1);
                        },
                        [this] {
                          const segments::BasicGatedAccess<ModelMemory> access(gate_);
                          if (!access.allowed()) return;
                          std::uint64_t seen = 0;
                          ModelMemory::copy_out(reinterpret_cast<std::byte*>(&seen), memory(), sizeof seen);
                          check(seen == 0, "what a program has in memory that is its own again");
                        }}};
  }

 private:
  std::byte* memory() { return reinterpret_cast<std::byte*>(&memory_); }
  alignas(64) std::uint64_t memory_ = 0;
  segments::AccessGate gate_{};
};

TEST(EveryOrder, OfLeavingWaitsForAccesses) {
  AccessProgram access;
  expect_sound_and_minimal({{"access to private memory", access.program()}});
}

} // namespace
} // namespace heddle::memory_order
