// Sleeping and waking: nobody sleeps on while a record lies in one of its rings.
#include "ir/window.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/shm/sleep_flag.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

class SleepProgram {
 public:
  // Each writer writes one record.
  explicit SleepProgram(std::size_t writers) : writers_(writers) {}

  [[nodiscard]] Program program() {
    Program program{.prepare = [] {}, .threads = {[this] { read(); }}};
    for (std::size_t i = 0; i < writers_; ++i) program.threads.emplace_back([this, i] { write(i); });
    return program;
  }

 private:
  std::byte* ring(std::size_t writer) { return reinterpret_cast<std::byte*>(rings_.at(writer).data()); }

  // As schedule::Queue::try_store.
  void write(std::size_t writer) {
    const std::uint64_t content = writer + 7;
    ir::store_record<ModelMemory>({.lead = writer + 1,
                                   .second = 0,
                                   .local = reinterpret_cast<const std::byte*>(&content),
                                   .bytes = sizeof content},
                                  ring(writer));
    if (ir::must_wake<ModelMemory>(asleep_)) translators::wake_sleeper<ModelMemory>(asleep_);
  }

  // As Context::State::wait_until: polls, announces, polls once more, sleeps.
  void read() {
    for (std::size_t taken = 0; taken < (1U << writers_) - 1;) {
      if (look(taken)) continue;
      translators::announce_sleep<ModelMemory>(asleep_, true);
      if (look(taken))
        translators::cancel_sleep<ModelMemory>(asleep_);
      else
        translators::sleep_announced<ModelMemory>(asleep_, {});
    }
  }
  bool look(std::size_t& taken) {
    const std::size_t before = taken;
    for (std::size_t i = 0; i < writers_; ++i) {
      if ((taken >> i & 1U) != 0) continue;
      const std::uint64_t lead = ModelMemory::load(base::word_at(ring(i)), std::memory_order_acquire);
      if (lead == 0) continue;
      std::uint64_t content = 0;
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(&content), ring(i) + ir::kStoredHeadBytes, sizeof content);
      check(lead == i + 1 && content == i + 7, "a record that nobody wrote");
      taken |= std::size_t{1} << i;
    }
    return taken != before;
  }

  const std::size_t writers_;
  alignas(64) std::array<std::array<std::uint64_t, 8>, 2> rings_{};
  alignas(64) std::atomic<std::uint32_t> asleep_{0};
};

TEST(EveryOrder, OfSleepingAndWakingMissesNothing) {
  SleepProgram one(1);
  SleepProgram two(2);
  expect_sound_and_minimal({{"one writer", one.program()}, {"two writers", two.program()}});
}

} // namespace
} // namespace heddle::memory_order
