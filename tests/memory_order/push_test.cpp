// Pushes and puts of one process to one peer land in order, and an aligned word at once: what the peer waits for by looking at it.
#include "base/shared_words.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

class PushProgram {
 public:
  // What the peer waits for: `bytes` of a push, by its first word.
  PushProgram(bool by_commands, std::uint64_t bytes) : by_commands_(by_commands), bytes_(bytes) {}

  // Data, then a word that says so; the target takes the data, and the word back for the next round.
  [[nodiscard]] Program program() {
    return {.prepare = [] {},
            .threads = {[this] {
                          const std::array<std::uint64_t, 2> data{5, 6};
                          const std::array<std::uint64_t, 2> said{1, 1};
                          push(data_.data(), data.data(), sizeof data);
                          push(bytes_ == 4 ? static_cast<void*>(&half_word_) : word_.data(), said.data(), bytes_);
                        },
                        [this] {
                          assume(look() == 1);
                          std::array<std::uint64_t, 2> seen{};
                          ModelMemory::copy_out(bytes_of(seen.data()), bytes_of(data_.data()), sizeof seen);
                          check(seen[0] == 5 && seen[1] == 6, "the word lands before the data");
                          if (bytes_ != 8) return;
                          ModelMemory::store(word_[0], 0, std::memory_order_relaxed);
                          check(look() == 0, "the word lands twice");
                        }}};
  }

 private:
  static std::byte* bytes_of(void* words) { return static_cast<std::byte*>(words); }
  // As OneSided::wait_change.
  std::uint64_t look() {
    return bytes_ == 4 ? ModelMemory::load(half_word_, std::memory_order_acquire)
                       : base::load_watched<ModelMemory>(word_[0]);
  }
  void push(void* to, const std::uint64_t* from, std::uint64_t bytes) {
    if (!by_commands_) {
      base::store_in_order<ModelMemory>(bytes_of(to), reinterpret_cast<const std::byte*>(from), bytes);
      return;
    }
    ir::Command command;
    command.operation = ir::Operation::put;
    command.flags = ir::Flags::none;
    command.head_bytes = 0;
    command.local = bytes_of(const_cast<std::uint64_t*>(from));
    command.bytes = bytes;
    translators::execute_put<ModelMemory>(command, bytes_of(to));
  }

  const bool by_commands_;
  const std::uint64_t bytes_;
  alignas(64) std::array<std::uint64_t, 2> data_{};
  alignas(64) std::array<std::uint64_t, 2> word_{};
  std::atomic<std::uint32_t> half_word_{0};
};

TEST(EveryOrder, OfPushesLandsInTheOrderOfTheCalls) {
  PushProgram word(false, 8);
  PushProgram half(false, 4);
  PushProgram more(false, 16);
  expect_sound_and_minimal({{"a word", word.program()}, {"4 bytes", half.program()}, {"16 bytes", more.program()}});
}

TEST(EveryOrder, OfPutsIsTheOrderOfTheCommands) {
  PushProgram word(true, 8);
  PushProgram half(true, 4);
  PushProgram more(true, 16);
  expect_sound_and_minimal({{"a word", word.program()}, {"4 bytes", half.program()}, {"16 bytes", more.program()}});
}

} // namespace
} // namespace heddle::memory_order
