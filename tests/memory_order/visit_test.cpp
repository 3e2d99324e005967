// Private memory is not touched any more once its owner has left.
#include "segments/segment.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

namespace heddle::memory_order {
namespace {

// A peer visits private memory while its owner leaves and gives the memory back.
class VisitProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [] {},
            .threads = {[this] {
                          segments::admit_no_visit<ModelMemory>(gate_);
                          assume(!segments::is_visited<ModelMemory>(gate_));
                          ModelMemory::plain_store(memory(), 1);
                        },
                        [this] {
                          const segments::BasicVisit<ModelMemory> visit(gate_);
                          if (!visit.allowed()) return;
                          std::uint64_t seen = 0;
                          ModelMemory::copy_out(reinterpret_cast<std::byte*>(&seen), memory(), sizeof seen);
                          check(seen == 0, "what a program has in memory that is its own again");
                        }}};
  }

 private:
  std::byte* memory() { return reinterpret_cast<std::byte*>(&memory_); }
  alignas(64) std::uint64_t memory_ = 0;
  segments::VisitGate gate_{};
};

TEST(EveryOrder, OfLeavingWaitsForVisitors) {
  VisitProgram visit;
  expect_sound_and_minimal({{"a visit", visit.program()}});
}

} // namespace
} // namespace heddle::memory_order
