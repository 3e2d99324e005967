// Atomic commands hand memory over: locks and the program's own counters are made of them where there is no direct memory.
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

namespace heddle::memory_order {
namespace {

class AtomicProgram {
 public:
  explicit AtomicProgram(ir::Operation operation) : operation_(operation) {}

  // Two processes in turn: whoever finds the word even adds one and has the memory, then adds one more.
  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { pass(0); }, [this] { pass(2); }}};
  }

 private:
  std::byte* memory() { return reinterpret_cast<std::byte*>(&memory_); }
  bool step(std::uint64_t from) {
    ir::Command command;
    command.operation = operation_;
    command.expected = from;
    command.operand = operation_ == ir::Operation::fetch_and_add ? 1 : from + 1;
    return translators::execute_atomic<ModelMemory>(command, reinterpret_cast<std::byte*>(&word_)) == from;
  }
  void pass(std::uint64_t turn) {
    assume(step(turn));
    std::uint64_t seen = 0;
    ModelMemory::copy_out(reinterpret_cast<std::byte*>(&seen), memory(), sizeof seen);
    check(seen == turn, "not what the other left");
    ModelMemory::plain_store(memory(), turn + 2);
    assume(step(turn + 1));
  }

  const ir::Operation operation_;
  alignas(64) std::uint64_t memory_ = 0;
  alignas(64) std::uint64_t word_ = 0;
};

TEST(EveryOrder, OfAtomicCommandsHandsMemoryOver) {
  AtomicProgram add(ir::Operation::fetch_and_add);
  AtomicProgram swap(ir::Operation::compare_and_swap);
  expect_sound_and_minimal({{"fetch and add", add.program()}, {"compare and swap", swap.program()}});
}

} // namespace
} // namespace heddle::memory_order
