#include "engine/rings/ring.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace heddle::engine {
namespace {

// Both ends of a ring over one memory; puts as a translator would do them.
struct Pair {
  explicit Pair(std::uint64_t capacity)
      : memory(capacity / 8),
        writer({.key = ir::MemoryKey{1}, .offset = 0}, capacity, &consumed),
        reader(reinterpret_cast<std::byte*>(memory.data()), capacity) {}

  void put_word(std::uint64_t at, std::uint64_t word) { memory[at / 8] = word; }
  // The command of RecordWriter::write_exclusive. False when there is no room.
  bool write(RecordKind kind, const std::vector<std::byte>& payload) {
    const std::uint64_t span = record_span(payload.size());
    const RingWriter::Room room = writer.room_for(span);
    if (room == RingWriter::Room::none) return false;
    if (room == RingWriter::Room::after_wrap) {
      put_word(writer.next_place().offset, Lead{.kind = RecordKind::wrap}.pack());
      writer.wrap();
    }
    const std::uint64_t at = writer.next_place().offset;
    EXPECT_LE(at + span + kLeadBytes, writer.capacity());
    auto* to = reinterpret_cast<std::byte*>(memory.data()) + at;
    if (!payload.empty()) std::memcpy(to + kRecordHeadBytes, payload.data(), payload.size());
    put_word(at + span, 0);
    put_word(at, Lead{.kind = kind, .bytes = static_cast<std::uint32_t>(payload.size())}.pack());
    writer.advance(span);
    return true;
  }
  // The next record's payload; false when there is none.
  bool read(std::vector<std::byte>& payload) {
    while (true) {
      const std::uint64_t word = reader.peek();
      if (word == 0) return false;
      EXPECT_TRUE(Lead::plausible(word));
      const Lead lead = Lead::unpack(word);
      if (lead.kind == RecordKind::wrap) {
        reader.wrap();
        continue;
      }
      const std::byte* content = reader.record() + kRecordHeadBytes;
      payload.assign(content, content + lead.bytes);
      reader.advance(record_span(lead.bytes));
      return true;
    }
  }
  void report() {
    consumed.store(reader.consumed());
    reader.reported();
  }

  std::vector<std::uint64_t> memory;
  std::atomic<std::uint64_t> consumed{0};
  RingWriter writer;
  RingReader reader;
};

// Bytes of which every aligned word looks like a lead word, so that a reader that strays is led astray.
std::vector<std::byte> treacherous(std::uint64_t bytes, std::mt19937_64& random) {
  std::vector<std::byte> payload(bytes);
  for (std::uint64_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = Lead{.kind = static_cast<RecordKind>(1 + random() % (kRecordKinds - 1)),
                                    .bytes = static_cast<std::uint32_t>(random() % 64)}
                                   .pack();
    std::memcpy(payload.data() + at, &word, std::min<std::uint64_t>(8, bytes - at));
  }
  return payload;
}

class RandomRing : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomRing, DeliversEveryRecordOverManyLapsWithoutOverwriting) {
  const std::uint64_t capacity = GetParam();
  const std::uint64_t largest = largest_record(capacity) - kRecordHeadBytes - kLeadBytes;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "capacity " << capacity << " seed " << seed);
    std::mt19937_64 random(seed);
    Pair pair(capacity);
    std::deque<std::vector<std::byte>> in_ring;
    std::uint64_t laps_of_bytes = 0;
    while (laps_of_bytes < 100 * capacity) {
      const bool writes = random() % 2 == 0;
      for (std::uint64_t burst = random() % 12; burst > 0; --burst) {
        if (writes) {
          const std::uint64_t choice = random() % 8;
          const std::uint64_t bytes = choice == 0   ? 0
                                      : choice == 1 ? largest
                                                    : random() % (choice < 6 ? 65 : largest + 1);
          auto payload = treacherous(bytes, random);
          if (!pair.write(RecordKind::eager, payload)) break;
          laps_of_bytes += record_span(bytes);
          in_ring.push_back(std::move(payload));
        } else {
          std::vector<std::byte> payload;
          if (!pair.read(payload)) {
            ASSERT_TRUE(in_ring.empty());
            break;
          }
          ASSERT_FALSE(in_ring.empty());
          ASSERT_EQ(payload, in_ring.front());
          in_ring.pop_front();
          if (pair.reader.report_due()) pair.report();
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Capacities, RandomRing, testing::Values(1024, 4096, 65536));

TEST(Ring, TakesTheLargestRecordAtAnyPositionOnceAllIsReadButAnEighth) {
  constexpr std::uint64_t kCapacity = 4096;
  const std::vector<std::byte> largest(largest_record(kCapacity) - kRecordHeadBytes - kLeadBytes);
  for (std::uint64_t filler = 0; filler < kCapacity / 8; filler += 8) {
    Pair pair(kCapacity);
    std::vector<std::byte> payload;
    // Every start position, with as much read and unreported as can be.
    for (int i = 0; i < 64; ++i) {
      ASSERT_TRUE(pair.write(RecordKind::eager, std::vector<std::byte>(filler)))
          << "filler " << filler << " round " << i;
      ASSERT_TRUE(pair.read(payload));
      if (pair.reader.report_due()) pair.report();
      ASSERT_TRUE(pair.write(RecordKind::eager, largest)) << "filler " << filler << " round " << i;
      ASSERT_TRUE(pair.read(payload));
      if (pair.reader.report_due()) pair.report();
    }
  }
}

TEST(Ring, HasNoRoomUntilTheReaderReports) {
  Pair pair(1024);
  std::uint64_t written = 0;
  while (pair.write(RecordKind::eager, std::vector<std::byte>(16))) ++written;
  EXPECT_EQ(written, (1024 - kLeadBytes) / record_span(16));
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < written; ++i) ASSERT_TRUE(pair.read(payload));
  EXPECT_FALSE(pair.write(RecordKind::eager, std::vector<std::byte>(16)));
  pair.report();
  EXPECT_TRUE(pair.write(RecordKind::eager, std::vector<std::byte>(16)));
}

TEST(Ring, ReportsEachEighth) {
  Pair pair(4096);
  std::vector<std::byte> payload;
  std::uint64_t unreported = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(pair.write(RecordKind::eager, std::vector<std::byte>(48)));
    const std::uint64_t before = pair.reader.consumed();
    ASSERT_TRUE(pair.read(payload));
    unreported += pair.reader.consumed() - before;
    EXPECT_EQ(pair.reader.report_due(), unreported >= report_interval(4096));
    if (!pair.reader.report_due()) continue;
    pair.report();
    unreported = 0;
    EXPECT_FALSE(pair.reader.report_due());
  }
}

} // namespace
} // namespace heddle::engine
