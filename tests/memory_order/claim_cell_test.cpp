// A large message that its receiver and its sender copy together: each chunk once, all there in the end.
#include "engine/messages/claim_cell.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

class AssistProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { receive(); }, [this] { assist(); }}};
  }

 private:
  static constexpr std::uint64_t kChunks = 4;
  static constexpr std::uint32_t kAsked = 1;
  static constexpr std::uint32_t kDone = 16; // and how many chunks the sender has copied

  std::byte* chunk(std::uint64_t number) { return reinterpret_cast<std::byte*>(&target_.at(number)); }
  void copy(std::uint64_t number) { ModelMemory::plain_store(chunk(number), 100 + number); }

  // As Fetcher::ask_for_help, post_next and assist_done; the first chunk was fetched alone.
  void receive() {
    copy(0);
    engine::open_cell<ModelMemory>(cell_, 1);
    post(to_sender_, kAsked);
    std::uint64_t copied = 1;
    for (std::uint64_t mine = 0; (mine = engine::claim_chunk<ModelMemory>(cell_)) < kChunks; ++copied) copy(mine);
    copied += await(to_receiver_, 0) - kDone;
    check(engine::chunks_claimed<ModelMemory>(cell_) >= kChunks, "what the sender has claimed is not seen");
    check(copied == kChunks, "a chunk is copied twice, or by nobody");
    for (std::uint64_t number = 0; number < kChunks; ++number) {
      std::uint64_t value = 0;
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(&value), chunk(number), sizeof value);
      check(value == 100 + number, "a chunk is missing");
    }
    engine::open_cell<ModelMemory>(cell_, 0); // another message's
    check(engine::claim_chunk<ModelMemory>(cell_) == 0, "the sender still claims");
  }
  // As Assistant::claim, claim_ended and end.
  void assist() {
    await(to_sender_, 0);
    ir::Command command;
    command.operation = ir::Operation::fetch_and_add;
    command.operand = 1;
    std::uint32_t copied = 0;
    for (std::uint64_t mine = 0;
         (mine = translators::execute_atomic<ModelMemory>(command, reinterpret_cast<std::byte*>(&cell_))) < kChunks;
         ++copied)
      copy(mine);
    post(to_receiver_, kDone + copied);
  }

  alignas(64) std::array<std::uint64_t, kChunks> target_{};
  engine::ClaimCell cell_{};
  // Records: how those travel is checked elsewhere.
  std::atomic<std::uint32_t> to_sender_{0};
  std::atomic<std::uint32_t> to_receiver_{0};
};

TEST(EveryOrder, OfAClaimCellGivesEachChunkToOne) {
  AssistProgram assist;
  expect_sound_and_minimal({{"one asks, one assists", assist.program()}}, "execute.hpp");
}

} // namespace
} // namespace heddle::memory_order
