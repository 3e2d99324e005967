// Sleeping and waking: nobody sleeps on while a record lies in one of its rings.
#include "ir/direct_ring.hpp"
#include "segments/sleep_flag.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

class SleepProgram {
 public:
  // Each writer writes one record.
  explicit SleepProgram(std::size_t writers, std::uint32_t how = segments::kAsleepOnWord)
      : writers_(writers), how_(how) {}

  [[nodiscard]] Program program() {
    Program program{.prepare = [] {}, .threads = {[this] { read(); }}};
    for (std::size_t i = 0; i < writers_; ++i) program.threads.emplace_back([this, i] { write(i); });
    return program;
  }

 private:
  std::byte* ring(std::size_t writer) { return reinterpret_cast<std::byte*>(rings_.at(writer).data()); }

  // As engine::ScheduleQueue::try_store.
  void write(std::size_t writer) {
    const std::uint64_t content = writer + 7;
    ir::store_record<ModelMemory>({.lead = writer + 1,
                                   .second = 0,
                                   .local = reinterpret_cast<const std::byte*>(&content),
                                   .bytes = sizeof content},
                                  ring(writer));
    if (ir::must_wake<ModelMemory>(asleep_)) segments::wake_sleeper<ModelMemory>(asleep_, [this] { ring_bell(); });
  }

  // The name is the owner's to write, before it first sleeps; the bell itself is the kernel's, and orders nothing.
  void ring_bell() {
    std::uint64_t name = 0;
    ModelMemory::copy_out(reinterpret_cast<std::byte*>(&name), reinterpret_cast<const std::byte*>(&name_), sizeof name);
    check(name == kName, "a bell that nobody has hung up");
    ModelMemory::exchange(rung_, 1U, std::memory_order_relaxed);
    ModelMemory::wake(rung_);
  }
  void sleep() {
    if (how_ == segments::kAsleepOnWord) return segments::sleep_announced<ModelMemory>(asleep_, {});
    ModelMemory::wait_while(rung_, 0, {});
    cancel();
  }
  void cancel() {
    segments::cancel_sleep<ModelMemory>(asleep_);
    if (how_ == segments::kAsleepByBell) ModelMemory::exchange(rung_, 0U, std::memory_order_relaxed);
  }

  // As Context::State::wait_until: polls, announces, polls once more, sleeps.
  void read() {
    if (how_ == segments::kAsleepByBell) ModelMemory::plain_store(reinterpret_cast<std::byte*>(&name_), kName);
    for (std::size_t taken = 0; taken < (1U << writers_) - 1;) {
      if (look(taken)) continue;
      segments::announce_sleep<ModelMemory>(asleep_, true, how_);
      if (look(taken))
        cancel();
      else
        sleep();
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

  static constexpr std::uint64_t kName = 5;
  const std::size_t writers_;
  const std::uint32_t how_;
  alignas(64) std::array<std::array<std::uint64_t, 8>, 2> rings_{};
  alignas(64) std::atomic<std::uint32_t> asleep_{0};
  alignas(64) std::atomic<std::uint32_t> rung_{0};
  alignas(64) std::uint64_t name_ = 0;
};

TEST(EveryOrder, OfSleepingAndWakingMissesNothing) {
  SleepProgram one(1);
  SleepProgram two(2);
  SleepProgram bell(1, segments::kAsleepByBell);
  expect_sound_and_minimal(
      {{"one writer", one.program()}, {"two writers", two.program()}, {"one writer and a bell", bell.program()}});
}

} // namespace
} // namespace heddle::memory_order
