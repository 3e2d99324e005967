#include "engine/rings/shared_ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace heddle::engine {
namespace {

constexpr std::uint64_t kSlotBytes = 128;

// A shared ring and the compare-and-swap on its words, as a translator would do them.
struct Ring {
  explicit Ring(std::uint64_t slots, std::uint64_t position = 0)
      : memory(slots * kSlotBytes / sizeof(std::uint64_t)),
        slot_count(slots),
        reader(bytes(), slots, kSlotBytes, position) {
    for (std::uint64_t i = 0; i < slots; ++i) {
      const std::uint64_t lap = position / slots + (i < position % slots ? 1 : 0);
      word(i) = Claim{.lap = static_cast<std::uint32_t>(lap)}.pack();
    }
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory.data()); }
  std::uint64_t& word(std::uint64_t slot) { return memory[slot * kSlotBytes / sizeof(std::uint64_t)]; }

  std::vector<std::uint64_t> memory;
  std::uint64_t slot_count;
  SharedRingReader reader;
};

struct Writer {
  std::uint32_t owner;
  SharedRingCursor cursor;

  // True when a slot is claimed; false when the ring is full.
  bool claim(Ring& ring) {
    while (true) {
      std::uint64_t& word = ring.word(cursor.slot());
      const std::uint64_t old = word;
      if (old == cursor.expected()) word = Claim{.lap = cursor.lap(), .owner = owner}.pack();
      switch (cursor.judge(old)) {
        case SharedRingCursor::Outcome::claimed: return true;
        case SharedRingCursor::Outcome::try_next: continue;
        case SharedRingCursor::Outcome::full: return false;
      }
    }
  }
  void write(Ring& ring, std::uint64_t value) {
    std::memcpy(ring.bytes() + cursor.slot() * kSlotBytes + kLeadBytes, &value, sizeof value);
    ring.word(cursor.slot()) = Claim{.lap = cursor.lap(), .owner = owner, .ready = true}.pack();
    cursor.advance();
  }
};

struct Read {
  std::uint32_t owner;
  std::uint64_t value;
};
bool read_one(Ring& ring, Read& read) {
  const Claim claim = ring.reader.peek();
  if (!ring.reader.current(claim) || claim.owner == 0 || !claim.ready) return false;
  read.owner = claim.owner;
  std::memcpy(&read.value, ring.reader.record(), sizeof read.value);
  ring.reader.advance();
  return true;
}

TEST(Claim, SurvivesPacking) {
  for (const std::uint32_t lap : {0U, 1U, 0x7fff'ffffU})
    for (const std::uint32_t owner : {0U, 1U, 0xffff'ffffU})
      for (const bool ready : {false, true}) {
        const Claim claim = Claim::unpack(Claim{.lap = lap, .owner = owner, .ready = ready}.pack());
        EXPECT_EQ(claim.lap, lap);
        EXPECT_EQ(claim.owner, owner);
        EXPECT_EQ(claim.ready, ready);
      }
}

TEST(SharedRing, HoldsControlRecordsHoweverSmallTheRing) {
  for (std::uint64_t bytes = 4096; bytes <= (1U << 20U); bytes *= 2) {
    EXPECT_GE(shared_slot_bytes(bytes), kSmallestSlot);
    EXPECT_GE(shared_payload(shared_slot_bytes(bytes)), sizeof(AssistRequest));
    EXPECT_GE(bytes / shared_slot_bytes(bytes), 32U);
  }
}

TEST(SharedRing, IsFullWhenEverySlotIsTakenAndFreeAgainWhenRead) {
  Ring ring(4);
  Writer writer{.owner = 1, .cursor = SharedRingCursor(4)};
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(writer.claim(ring));
    writer.write(ring, i);
  }
  EXPECT_FALSE(writer.claim(ring));
  Read read{};
  ASSERT_TRUE(read_one(ring, read));
  EXPECT_EQ(read.value, 0U);
  ASSERT_TRUE(writer.claim(ring));
  writer.write(ring, 4);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(read_one(ring, read));
    EXPECT_EQ(read.value, i);
  }
  EXPECT_FALSE(read_one(ring, read));
}

// A writer that comes late finds the slots free in a later lap than its own; it must not claim ahead of the reader.
TEST(SharedRing, LeavesNoHoleWhenAWriterComesLapsLater) {
  for (std::uint64_t before = 0; before < 40; ++before) {
    Ring ring(8);
    Writer early{.owner = 1, .cursor = SharedRingCursor(8)};
    Read read{};
    for (std::uint64_t i = 0; i < before; ++i) {
      ASSERT_TRUE(early.claim(ring));
      early.write(ring, i);
      ASSERT_TRUE(read_one(ring, read));
    }
    Writer late{.owner = 2, .cursor = SharedRingCursor(8)};
    ASSERT_TRUE(late.claim(ring));
    late.write(ring, 1000);
    ASSERT_TRUE(read_one(ring, read)) << "after " << before << " records of the other writer";
    EXPECT_EQ(read.value, 1000U);
  }
}

void random_traffic(std::uint64_t slots, std::uint64_t position, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "slots " << slots << " position " << position << " seed " << seed);
  constexpr std::uint32_t kWriters = 5;
  std::mt19937_64 random(seed);
  Ring ring(slots, position);
  std::vector<Writer> writers;
  for (std::uint32_t i = 0; i < kWriters; ++i)
    writers.push_back({.owner = i + 1, .cursor = SharedRingCursor(slots, position)});
  std::vector<std::uint64_t> sent(kWriters), got(kWriters);
  std::vector<bool> held(kWriters);
  std::uint64_t in_ring = 0;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t who = random() % (kWriters + 2);
    if (who < kWriters) {
      if (who == 4 && step % 4096 < 3500) continue; // one that speaks rarely
      if (held[who]) {
        writers[who].write(ring, sent[who]++);
        held[who] = false;
      } else if (writers[who].claim(ring)) {
        held[who] = true;
        ++in_ring;
        ASSERT_LE(in_ring, slots);
      }
      continue;
    }
    Read read{};
    if (read_one(ring, read)) {
      --in_ring;
      ASSERT_EQ(read.value, got[read.owner - 1]++) << "order of writer " << read.owner;
    }
  }
  for (std::size_t who = 0; who < kWriters; ++who)
    if (held[who]) writers[who].write(ring, sent[who]++);
  for (Read read{}; read_one(ring, read);) ASSERT_EQ(read.value, got[read.owner - 1]++);
  EXPECT_EQ(sent, got);
}

TEST(SharedRing, KeepsEachWritersOrderAndLosesNothingOverManyLaps) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const std::uint64_t slots : {1U, 2U, 8U, 64U}) random_traffic(slots, 0, seed);
}

TEST(SharedRing, PassesTheEndOfTheLapCount) {
  for (const std::uint64_t slots : {8U, 64U}) {
    random_traffic(slots, (std::uint64_t{1} << 31U) * slots - 3 * slots - 1, 7);
    random_traffic(slots, (std::uint64_t{1} << 32U) * slots - 3 * slots - 1, 8);
  }
}

TEST(SharedRing, SkipsTheSlotOfADeadWriter) {
  Ring ring(8);
  Writer dead{.owner = 1, .cursor = SharedRingCursor(8)};
  Writer alive{.owner = 2, .cursor = SharedRingCursor(8)};
  ASSERT_TRUE(dead.claim(ring));
  ASSERT_TRUE(alive.claim(ring));
  alive.write(ring, 5);
  Read read{};
  EXPECT_FALSE(read_one(ring, read));
  EXPECT_EQ(ring.reader.peek().owner, 1U);
  ring.reader.advance();
  ASSERT_TRUE(read_one(ring, read));
  EXPECT_EQ(read.value, 5U);
}

TEST(SharedRing, RestoresASlotThatALateWordHasSpoiled) {
  Ring ring(2);
  Writer late{.owner = 1, .cursor = SharedRingCursor(2)};
  Writer other{.owner = 2, .cursor = SharedRingCursor(2)};
  ASSERT_TRUE(late.claim(ring));
  ring.reader.advance();          // thought dead, skipped
  late.write(ring, 1);            // and yet it writes
  ASSERT_TRUE(other.claim(ring)); // slot 1 of the first lap
  other.write(ring, 2);
  Read read{};
  ASSERT_TRUE(read_one(ring, read));
  EXPECT_FALSE(other.claim(ring)); // slot 0 still says the first lap
  EXPECT_FALSE(ring.reader.current(ring.reader.peek()));
  ring.reader.restore();
  ASSERT_TRUE(other.claim(ring));
  other.write(ring, 3);
  ASSERT_TRUE(read_one(ring, read));
  EXPECT_EQ(read.value, 3U);
}

} // namespace
} // namespace heddle::engine
