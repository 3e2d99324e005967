// The shared ring, two writers and the reader as threads: every record once, whole, those of one writer in order.
#include "engine/rings/shared_ring.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>

namespace heddle::memory_order {
namespace {

using engine::Claim;
using engine::kLeadBytes;
using engine::SharedRingCursor;

constexpr std::uint64_t kSlotBytes = 32; // claim word, lead word, tag, one word of payload
constexpr std::uint32_t kWriters = 2;

class SharedRingProgram {
 public:
  SharedRingProgram(std::uint64_t slots, std::array<std::uint64_t, kWriters> records)
      : slots_(slots), records_(records) {}

  [[nodiscard]] Program program() {
    return {.prepare =
                [this] {
                  for (auto& cursor : cursors_) cursor = SharedRingCursor(slots_);
                  reader_.emplace(memory(0), slots_, kSlotBytes);
                },
            .threads = {[this] { write(0); }, [this] { write(1); }, [this] { read(); }}};
  }

 private:
  std::byte* memory(std::uint64_t slot) { return reinterpret_cast<std::byte*>(memory_.data()) + slot * kSlotBytes; }

  // As RecordWriter::ask_claim, claim_answered and write_shared.
  void write(std::uint32_t rank) {
    SharedRingCursor& cursor = cursors_.at(rank);
    for (std::uint64_t record = 0; record < records_.at(rank); ++record) {
      claim(rank);
      ir::Command command;
      command.operation = ir::Operation::put;
      command.flags = ir::Flags::lead_last;
      const std::array<std::uint64_t, 4> words{Claim{.lap = cursor.lap(), .owner = rank + 1, .ready = true}.pack(),
                                               100 + rank, record, 1000 * rank + record};
      std::memcpy(command.head.data(), words.data(), kSlotBytes);
      command.head_bytes = kSlotBytes;
      command.bytes = 0;
      translators::execute_put<ModelMemory>(command, memory(cursor.slot()));
      cursor.advance();
    }
  }
  void claim(std::uint32_t rank) {
    SharedRingCursor& cursor = cursors_.at(rank);
    for (;;) {
      ir::Command command;
      command.operation = ir::Operation::compare_and_swap;
      command.expected = cursor.expected();
      command.operand = Claim{.lap = cursor.lap(), .owner = rank + 1}.pack();
      const std::uint64_t old = translators::execute_atomic<ModelMemory>(command, memory(cursor.slot()));
      const SharedRingCursor::Outcome outcome = cursor.judge(old);
      if (outcome == SharedRingCursor::Outcome::claimed) return;
      assume(outcome == SharedRingCursor::Outcome::try_next); // full: asked again later, with no other effect
    }
  }

  // As Engine::read_shared_ring.
  void read() {
    std::array<std::uint64_t, kWriters> next{};
    while (next != records_) {
      const Claim claim = reader_->peek();
      assume(claim.owner != 0 && reader_->current(claim) && claim.ready);
      check(claim.owner <= kWriters, "a claim of nobody");
      const std::uint32_t rank = claim.owner - 1;
      std::array<std::uint64_t, 3> words{};
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(words.data()), reader_->record(), sizeof words);
      check(words[0] == 100 + rank && words[1] == next.at(rank) && words[2] == 1000 * rank + next.at(rank),
            "the record is not the writer's next");
      ++next.at(rank);
      reader_->advance();
    }
  }

  const std::uint64_t slots_;
  const std::array<std::uint64_t, kWriters> records_;
  alignas(64) std::array<std::uint64_t, 8> memory_{};
  std::array<SharedRingCursor, kWriters> cursors_;
  std::optional<engine::BasicSharedRingReader<ModelMemory>> reader_;
};

// As RecordWriter::write_shared: a record whose three words are `value`.
void put_record(std::byte* slot, const Claim& claim, std::uint64_t value) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  const std::array<std::uint64_t, 4> words{claim.pack(), value, value, value};
  std::memcpy(command.head.data(), words.data(), kSlotBytes);
  command.head_bytes = kSlotBytes;
  command.bytes = 0;
  translators::execute_put<ModelMemory>(command, slot);
}

// A slot was claimed by a peer that was thought dead, and passed over; its record lands after all. The reader frees the slot again, for
// a writer that comes then: one that came before would be written over, whatever the order.
class LateRecordProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [this] { reader_.emplace(memory(), 1, kSlotBytes, kLap); },
            .threads = {[this] { put_record(memory(), Claim{.lap = kLap - 1, .owner = kLate, .ready = true}, 1); },
                        [this] { restore_and_read(); }, [this] { write(); }}};
  }

 private:
  static constexpr std::uint32_t kLap = 1; // the one that is read; the late one's is before it
  static constexpr std::uint32_t kLate = 1;
  static constexpr std::uint32_t kLiving = 2;

  std::byte* memory() { return reinterpret_cast<std::byte*>(memory_.data()); }
  // As Engine::read_shared_ring.
  void restore_and_read() {
    Claim claim = reader_->peek();
    assume(claim.owner == kLate);
    check(!reader_->current(claim), "the late record is of this lap");
    reader_->restore();
    claim = reader_->peek();
    assume(claim.owner == kLiving && claim.ready && reader_->current(claim));
    std::array<std::uint64_t, 3> words{};
    ModelMemory::copy_out(reinterpret_cast<std::byte*>(words.data()), reader_->record(), sizeof words);
    check(words[0] == 2 && words[1] == 2 && words[2] == 2, "the late record is in the writer's");
    reader_->advance();
  }
  void write() {
    // Not before the late record.
    assume(Claim::unpack(ModelMemory::load(memory_[0], std::memory_order_relaxed)).owner == kLate);
    SharedRingCursor cursor(1, kLap);
    ir::Command command;
    command.operation = ir::Operation::compare_and_swap;
    command.expected = cursor.expected();
    command.operand = Claim{.lap = cursor.lap(), .owner = kLiving}.pack();
    const std::uint64_t old = translators::execute_atomic<ModelMemory>(command, memory());
    assume(cursor.judge(old) == SharedRingCursor::Outcome::claimed);
    put_record(memory(), Claim{.lap = kLap, .owner = kLiving, .ready = true}, 2);
  }

  alignas(64) std::array<std::uint64_t, kSlotBytes / 8> memory_{Claim{.lap = kLap}.pack()};
  std::optional<engine::BasicSharedRingReader<ModelMemory>> reader_;
};

// The writer that has claimed a slot is given up on, and its record lands at any time: nothing that a living writer puts is written
// over.
class ClosedSlotProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [this] { reader_.emplace(memory(0), kSlots, kSlotBytes); },
            .threads = {[this] { put_record(memory(0), Claim{.owner = kLate, .ready = true}, 9); }, [this] { read(); },
                        [this] { write(); }}};
  }

 private:
  static constexpr std::uint64_t kSlots = 2;
  static constexpr std::uint64_t kRecords = 3;
  static constexpr std::uint32_t kLate = 1;
  static constexpr std::uint32_t kLiving = 2;

  std::byte* memory(std::uint64_t slot) { return reinterpret_cast<std::byte*>(memory_.data()) + slot * kSlotBytes; }
  // As Engine::read_shared_ring.
  void read() {
    for (std::uint64_t next = 0; next < kRecords;) {
      reader_->mend();
      const Claim claim = reader_->peek();
      assume(!claim.free());
      if (reader_->late() != 0) {
        if (reader_->late() == Claim::kNobody)
          reader_->advance();
        else
          reader_->close(kLate);
        continue;
      }
      check(reader_->current(claim), "the late record stands in an open slot");
      if (claim.owner == kLate) {
        if (claim.ready)
          reader_->advance();
        else
          reader_->close(kLate);
        continue;
      }
      assume(claim.ready);
      std::array<std::uint64_t, 3> words{};
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(words.data()), reader_->record(), sizeof words);
      check(words[0] == next && words[1] == next && words[2] == next, "the record is not the writer's next");
      ++next;
      reader_->advance();
    }
  }
  void write() {
    SharedRingCursor cursor(kSlots);
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      for (;;) {
        ir::Command command;
        command.operation = ir::Operation::compare_and_swap;
        command.expected = cursor.expected();
        command.operand = Claim{.lap = cursor.lap(), .owner = kLiving}.pack();
        const SharedRingCursor::Outcome outcome =
            cursor.judge(translators::execute_atomic<ModelMemory>(command, memory(cursor.slot())));
        if (outcome == SharedRingCursor::Outcome::claimed) break;
        assume(outcome == SharedRingCursor::Outcome::try_next);
      }
      put_record(memory(cursor.slot()), Claim{.lap = cursor.lap(), .owner = kLiving, .ready = true}, record);
      cursor.advance();
    }
  }

  alignas(64) std::array<std::uint64_t, kSlots * kSlotBytes / 8> memory_{Claim{.owner = kLate}.pack()};
  std::optional<engine::BasicSharedRingReader<ModelMemory>> reader_;
};

TEST(EveryOrder, OfASharedRingKeepsRecordsWhole) {
  SharedRingProgram one_slot(1, {2, 2});
  SharedRingProgram two_slots(2, {3, 2});
  LateRecordProgram late;
  ClosedSlotProgram closed;
  expect_sound_and_minimal({{"one slot", one_slot.program()},
                            {"two slots", two_slots.program()},
                            {"a late record", late.program()},
                            {"a closed slot", closed.program()}},
                           "execute.hpp");
}

} // namespace
} // namespace heddle::memory_order
