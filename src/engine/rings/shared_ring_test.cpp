#include "engine/rings/shared_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <utility>
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

// As the reader of an engine does it. False: there is nothing to read now.
template <typename GivenUp, typename Gone>
bool read_or_pass(Ring& ring, Read& read, const GivenUp& given_up, const Gone& gone) {
  ring.reader.mend();
  for (std::uint64_t passed = 0; passed <= ring.slot_count; ++passed) {
    const Claim claim = ring.reader.peek();
    if (claim.free()) return false;
    if (const std::uint32_t late = ring.reader.late(); late != 0) {
      if (late == Claim::kNobody || gone(late))
        ring.reader.advance();
      else
        ring.reader.close(late);
    } else if (claim.owner != 0 && given_up(claim.owner)) {
      if (claim.ready || gone(claim.owner))
        ring.reader.advance();
      else
        ring.reader.close(claim.owner);
    } else {
      return read_one(ring, read);
    }
  }
  return false;
}

TEST(SharedRing, KeepsASlotClosedUntilItsLateRecordHasLanded) {
  Ring ring(4);
  Writer late{.owner = 1, .cursor = SharedRingCursor(4)};
  Writer other{.owner = 2, .cursor = SharedRingCursor(4)};
  const auto given_up = [](std::uint32_t owner) { return owner == 1; };
  const auto nobody = [](std::uint32_t) { return false; };
  ASSERT_TRUE(late.claim(ring));
  Read read{};
  EXPECT_FALSE(read_or_pass(ring, read, given_up, nobody));
  for (std::uint64_t i = 0; i < 20; ++i) { // by the three other slots
    ASSERT_TRUE(other.claim(ring)) << i;
    EXPECT_NE(other.cursor.slot(), 0U);
    other.write(ring, i);
    if (i % 3 == 2)
      for (std::uint64_t each = i - 2; each <= i; ++each) {
        ASSERT_TRUE(read_or_pass(ring, read, given_up, nobody)) << i;
        EXPECT_EQ(read.value, each);
      }
  }
  late.write(ring, 1000);
  std::uint64_t at_zero = 0;
  for (std::uint64_t i = 20; i < 40; ++i) {
    while (read_or_pass(ring, read, given_up, nobody)) EXPECT_LT(read.value, i);
    ASSERT_TRUE(other.claim(ring)) << i;
    at_zero += other.cursor.slot() == 0 ? 1 : 0;
    other.write(ring, i);
  }
  EXPECT_GE(at_zero, 4U) << "the slot is not used again";
}

TEST(SharedRing, LosesNothingWhileWritersAreGivenUp) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::uint64_t slots = seed % 3 == 0 ? 64 : 2 + seed % 7;
    Ring ring(slots);
    struct Peer {
      Writer writer;
      bool held = false;
      bool given_up = false;
      bool gone = false;
      std::uint64_t sent = 0;
      std::uint64_t got = 0;
    };
    std::vector<Peer> peers;
    const auto come = [&] {
      peers.push_back(
          {.writer = {.owner = static_cast<std::uint32_t>(peers.size() + 1), .cursor = SharedRingCursor(slots)}});
    };
    const auto given_up = [&](std::uint32_t owner) { return peers[owner - 1].given_up; };
    const auto gone = [&](std::uint32_t owner) { return peers[owner - 1].gone; };
    std::array<std::size_t, 6> seats{};
    for (std::size_t& seat : seats) {
      seat = peers.size();
      come();
    }
    std::uint64_t received = 0;
    const auto read_next = [&] {
      Read read{};
      if (!read_or_pass(ring, read, given_up, gone)) return false;
      ++received;
      EXPECT_EQ(read.value, peers[read.owner - 1].got++) << "order of writer " << read.owner;
      return true;
    };
    for (int step = 0; step < 20'000 && !testing::Test::HasFailure(); ++step) {
      std::size_t& seat = seats.at(random() % seats.size());
      Peer& peer = peers[seat];
      switch (random() % 4) {
        case 0:
        case 1:
          if (std::exchange(peer.held, false)) {
            peer.writer.write(ring, peer.sent++);
          } else if (peer.given_up) { // it has heard of that
            peer.gone = true;
            seat = peers.size();
            come();
          } else {
            peer.held = peer.writer.claim(ring);
          }
          break;
        case 2: read_next(); break;
        default:
          if (random() % 20 == 0) peer.given_up = true;
          break;
      }
    }
    for (Peer& peer : peers)
      if (std::exchange(peer.held, false)) peer.writer.write(ring, peer.sent++);
    while (read_next()) {
    }
    EXPECT_GT(received, 1000U);
    for (const Peer& peer : peers)
      EXPECT_TRUE(peer.given_up || peer.got == peer.sent) << "of writer " << peer.writer.owner;
  }
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
