// Sleeping, areas and the access gate of shared memory, both sides as threads over one memory: for TSan.
#include "ir/direct_ring.hpp"
#include "segments/sleep_flag.hpp"
#include "translators/shm/areas.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>

namespace heddle::translators {
namespace {

TEST(Threads, ThatSleepAndWakeMissNothing) {
  if (!Kernel::take_part_in_barriers()) GTEST_SKIP() << "the kernel has no barrier for all processes";
  constexpr std::uint64_t kRecords = 2'000;
  alignas(64) static std::array<std::uint64_t, 16> ring;
  static std::atomic<std::uint32_t> asleep;
  auto* record = reinterpret_cast<std::byte*>(ring.data());
  const auto lead = [record] { return base::Processor::load(base::word_at(record), std::memory_order_acquire); };

  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kRecords; ++i) {
      while (lead() != 0) std::this_thread::yield();
      ir::store_record({.lead = i, .second = i, .local = reinterpret_cast<const std::byte*>(&i), .bytes = sizeof i},
                       record);
      if (ir::must_wake(asleep)) segments::wake_sleeper<Kernel>(asleep, [] {});
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= kRecords; ++i) {
    while (lead() == 0) {
      segments::announce_sleep<Kernel>(asleep, true);
      if (lead() != 0)
        segments::cancel_sleep<Kernel>(asleep);
      else
        segments::sleep_announced<Kernel>(asleep,
                                          std::chrono::seconds(10)); // a missed record shows as a test that takes long
    }
    wrong += lead() == i && ring[1] == i && ring[2] == i ? 0 : 1;
    base::Processor::store(ring[0], 0, std::memory_order_release);
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AreOutOfAnAreaThatIsClosed) {
  const bool barrier = Kernel::take_part_in_barriers();
  constexpr std::uint64_t kRounds = 500;
  static AreaEntry entry;
  static InsideWord inside;
  std::atomic<bool> over{false};
  alignas(64) static std::uint64_t memory;

  std::thread user([&] {
    while (!over.load(std::memory_order_acquire)) {
      const std::uint64_t key = entry.key.load(std::memory_order_acquire);
      AreaContent content;
      if (key == 0 || !read_entry(entry, key, content)) continue;
      const ir::DirectArea direct{.memory = reinterpret_cast<std::byte*>(&memory),
                                  .live = &entry.key,
                                  .key = key,
                                  .inside = &inside.process,
                                  .mark = 1,
                                  .fenced = !barrier};
      for (int i = 0; i < 100 && direct.enter(); ++i) {
        ++memory;
        direct.leave();
      }
    }
  });
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    open_entry(entry, {.bytes = round, .segment = {}, .address = round}, kAreaKey | round);
    std::this_thread::yield();
    close_entry(entry, barrier);
    while (is_inside(inside) != 0) std::this_thread::yield();
    memory = 0; // nobody else's any more
  }
  over.store(true, std::memory_order_release);
  user.join();
  EXPECT_EQ(memory, 0);
}

TEST(Threads, AccessNobodyWhoHasLeft) {
  for (int round = 0; round < 200; ++round) {
    auto header = std::make_unique<SegmentHeader>();
    std::uint64_t memory = 0;
    std::thread reader([&] {
      for (;;) {
        const segments::GatedAccess access(header->gate);
        if (!access.allowed()) return;
        ++memory;
      }
    });
    std::this_thread::yield();
    segments::close_gate(header->gate);
    while (segments::in_use(header->gate)) std::this_thread::yield();
    memory = 0;
    reader.join();
    EXPECT_EQ(memory, 0);
  }
}

} // namespace
} // namespace heddle::translators
