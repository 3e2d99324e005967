// The two sides of what processes share, as threads over one memory: for TSan, which knows no other order than what the code asks for.
#include "engine/rings/ring.hpp"
#include "engine/rings/shared_ring.hpp"
#include "ir/direct_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace heddle::engine {
namespace {

constexpr std::uint64_t kThreadRecords = 20'000;

TEST(Threads, AtBothEndsOfARingShareNothingUnordered) {
  constexpr std::uint64_t kRingBytes = 1024;
  alignas(64) static std::array<std::uint64_t, kRingBytes / 8> memory;
  auto* ring = reinterpret_cast<std::byte*>(memory.data());
  std::atomic<std::uint64_t> consumed{0};
  const auto words_of = [](std::uint64_t record) { return 1 + record % 20; };

  std::thread writer([&] {
    RingWriter end({}, kRingBytes, &consumed);
    for (std::uint64_t record = 0; record < kThreadRecords; ++record) {
      const std::vector<std::uint64_t> payload(words_of(record), record);
      const std::uint64_t span = record_span(8 * payload.size());
      RingWriter::Room room = RingWriter::Room::none;
      while ((room = end.room_for(span)) == RingWriter::Room::none) std::this_thread::yield();
      if (room == RingWriter::Room::after_wrap) {
        base::Processor::store(base::word_at(ring + end.next_offset()), Lead{.kind = RecordKind::wrap}.pack(),
                               std::memory_order_release);
        end.wrap();
      }
      const std::uint64_t bytes = 8 * payload.size();
      ir::store_record({.lead = Lead{.kind = RecordKind::eager, .bytes = static_cast<std::uint32_t>(bytes)}.pack(),
                        .second = record,
                        .local = reinterpret_cast<const std::byte*>(payload.data()),
                        .bytes = bytes},
                       ring + end.next_offset());
      end.advance(span);
    }
  });
  RingReader end(ring, kRingBytes);
  std::uint64_t wrong = 0;
  for (std::uint64_t record = 0; record < kThreadRecords;) {
    const std::uint64_t word = end.peek();
    if (word == 0) {
      std::this_thread::yield();
      continue;
    }
    const Lead lead = Lead::unpack(word);
    if (lead.kind == RecordKind::wrap) {
      end.wrap();
      continue;
    }
    std::array<std::uint64_t, 21> content{};
    wrong += lead.bytes == 8 * words_of(record) ? 0 : 1;
    std::memcpy(content.data(), end.record() + kLeadBytes, 8 + 8 * words_of(record));
    for (std::uint64_t i = 0; i <= words_of(record); ++i) wrong += content.at(i) == record ? 0 : 1;
    end.advance(record_span(lead.bytes));
    ++record;
    if (!end.report_due()) continue;
    base::Processor::store(consumed, end.consumed(), std::memory_order_release);
    end.reported();
  }
  writer.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AtASharedRingShareNothingUnordered) {
  constexpr std::uint64_t kSlotCount = 4;
  constexpr std::uint64_t kBytesOfSlot = 32;
  constexpr std::uint32_t kWriters = 3;
  constexpr std::uint64_t kEach = kThreadRecords / kWriters;
  alignas(64) static std::array<std::uint64_t, kSlotCount * kBytesOfSlot / 8> memory;
  auto* ring = reinterpret_cast<std::byte*>(memory.data());

  const auto write = [ring](std::uint32_t owner) {
    SharedRingCursor cursor(kSlotCount);
    for (std::uint64_t record = 0; record < kEach; ++record) {
      for (auto outcome = SharedRingCursor::Outcome::full; outcome != SharedRingCursor::Outcome::claimed;) {
        std::uint64_t found = cursor.expected();
        base::Processor::compare_exchange(base::word_at(ring + cursor.slot() * kBytesOfSlot), found,
                                          Claim{.lap = cursor.lap(), .owner = owner}.pack(), std::memory_order_acq_rel);
        outcome = cursor.judge(found);
        if (outcome == SharedRingCursor::Outcome::full) std::this_thread::yield();
      }
      std::byte* slot = ring + cursor.slot() * kBytesOfSlot;
      const std::array<std::uint64_t, 3> content{owner, record, owner + record};
      std::memcpy(slot + kLeadBytes, content.data(), sizeof content);
      base::Processor::store(base::word_at(slot), Claim{.lap = cursor.lap(), .owner = owner, .ready = true}.pack(),
                             std::memory_order_release);
      cursor.advance();
    }
  };
  std::vector<std::thread> writers;
  for (std::uint32_t owner = 1; owner <= kWriters; ++owner) writers.emplace_back(write, owner);
  SharedRingReader reader(ring, kSlotCount, kBytesOfSlot);
  std::array<std::uint64_t, kWriters + 1> next{};
  std::uint64_t wrong = 0;
  for (std::uint64_t taken = 0; taken < kWriters * kEach;) {
    const Claim claim = reader.peek();
    if (claim.owner == 0 || !reader.current(claim) || !claim.ready) {
      std::this_thread::yield();
      continue;
    }
    std::array<std::uint64_t, 3> content{};
    std::memcpy(content.data(), reader.record(), sizeof content);
    const bool right = content[0] == claim.owner && content[1] == next.at(claim.owner)++;
    wrong += right && content[2] == content[0] + content[1] ? 0 : 1;
    reader.advance();
    ++taken;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(wrong, 0);
}

// Data, then a word, as OneSided::push and wait_change; the target writes the word back.
TEST(Threads, ThatPushShareNothingUnordered) {
  alignas(64) static std::array<std::uint64_t, 8> target;
  alignas(64) static std::uint64_t word;
  constexpr std::uint64_t kRounds = 5'000;
  std::thread pusher([] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      std::array<std::uint64_t, 8> data{};
      data.fill(round);
      base::store_in_order(reinterpret_cast<std::byte*>(target.data()), reinterpret_cast<const std::byte*>(data.data()),
                           sizeof data);
      base::store_in_order(reinterpret_cast<std::byte*>(&word), reinterpret_cast<const std::byte*>(&round),
                           sizeof round);
      while (base::Processor::load(word, std::memory_order_acquire) != 0) std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::uint64_t seen = 0;
    while ((seen = base::Processor::load(word, std::memory_order_acquire)) == 0) std::this_thread::yield();
    wrong += seen == round ? 0 : 1;
    for (const std::uint64_t value : target) wrong += value == round ? 0 : 1;
    base::Processor::store(word, 0, std::memory_order_release);
  }
  pusher.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace heddle::engine
