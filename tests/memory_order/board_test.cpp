// Boards: a block arrives whole, and nobody writes a side that is still read.
#include "collective/board.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace heddle::memory_order {
namespace {

// Two processes, each with a board that the other reads. As Boards::publish, gather and take.
class BoardProgram {
 public:
  explicit BoardProgram(std::uint64_t rounds) : rounds_(rounds) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { exchange(0); }, [this] { exchange(1); }}};
  }

 private:
  static constexpr std::uint64_t kBytes = 8;

  void exchange(std::uint32_t self) {
    const std::uint32_t other = 1 - self;
    for (std::uint64_t number = 1; number <= rounds_; ++number) {
      const std::uint64_t value = 100 * number + self;
      shape_.write<ModelMemory>(board(self), number, 0, std::as_bytes(std::span(&value, 1)));
      assume(shape_.has<ModelMemory>(board(other), number, 0));
      std::uint64_t got = 0;
      const std::uint64_t bytes =
          shape_.read<ModelMemory>(board(other), number, 0, std::as_writable_bytes(std::span(&got, 1)));
      check(bytes == kBytes, "another size");
      check(got == 100 * number + other, "what is read is not of this exchange");
    }
  }
  std::byte* board(std::uint32_t rank) { return boards_.at(rank).data(); }

  const std::uint64_t rounds_;
  collective::BoardShape shape_{1, kBytes};
  struct alignas(64) Memory : std::array<std::byte, 192> {};
  std::array<Memory, 2> boards_{};
};

// The same with blocks that lie in their owners' memory, and are written over as soon as the exchange has ended.
class LargeBlockProgram {
 public:
  explicit LargeBlockProgram(std::uint64_t rounds) : rounds_(rounds) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { exchange(0); }, [this] { exchange(1); }}};
  }

 private:
  static constexpr std::uint64_t kBytes = 64; // more than a line takes

  void exchange(std::uint32_t self) {
    const std::uint32_t other = 1 - self;
    for (std::uint64_t number = 1; number <= rounds_; ++number) {
      ModelMemory::plain_store(blocks_.at(self).data(), 100 * number + self);
      shape_.write_place<ModelMemory>(boards_.at(self).data(), number, 0, kBytes, {});
      assume(shape_.has<ModelMemory>(boards_.at(other).data(), number, 0));
      check(shape_.size<ModelMemory>(boards_.at(other).data(), number, 0) == kBytes, "another size");
      std::uint64_t got = 0;
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(&got), blocks_.at(other).data(), sizeof got);
      check(got == 100 * number + other, "what is read is not of this exchange");
      shape_.tell_read<ModelMemory>(boards_.at(self).data(), number);
      assume(shape_.has_read<ModelMemory>(boards_.at(other).data(), number));
    }
  }

  const std::uint64_t rounds_;
  collective::BoardShape shape_{1, 8};
  struct alignas(64) Memory : std::array<std::byte, 192> {};
  struct alignas(64) Block : std::array<std::byte, kBytes> {};
  std::array<Memory, 2> boards_{};
  std::array<Block, 2> blocks_{};
};

TEST(MemoryOrder, BlocksOnBoardsArriveWholeAndUnderTheirNumber) {
  BoardProgram exchanges(3);
  LargeBlockProgram large(2);
  expect_sound_and_minimal({{"exchanges", exchanges.program()}, {"large blocks", large.program()}}, "shared_words.hpp");
}

} // namespace
} // namespace heddle::memory_order
