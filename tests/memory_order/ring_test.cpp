// The exclusive ring, its two ends as threads: every record once, whole and in order, over more than one lap.
#include "engine/rings/ring.hpp"
#include "ir/direct_ring.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

namespace heddle::memory_order {
namespace {

using engine::kLeadBytes;
using engine::kRecordHeadBytes;
using engine::Lead;
using engine::RecordKind;

constexpr std::uint64_t kCapacity = 256; // eight records of the smallest size, two of the largest in a row

class RingProgram {
 public:
  // Payload words of each record.
  explicit RingProgram(std::vector<std::uint64_t> sizes, bool by_commands)
      : sizes_(std::move(sizes)), by_commands_(by_commands) {}

  [[nodiscard]] Program program() {
    return {.prepare =
                [this] {
                  writer_.emplace(ir::RemotePlace{}, kCapacity, &consumed_);
                  reader_.emplace(memory(0), kCapacity);
                },
            .threads = {[this] { write(); }, [this] { read(); }}};
  }

 private:
  using Writer = engine::BasicRingWriter<ModelMemory>;

  std::byte* memory(std::uint64_t offset) { return reinterpret_cast<std::byte*>(memory_.data()) + offset; }
  static std::uint64_t word(std::uint64_t record, std::uint64_t index) { return 1000 * record + index + 1; }
  static ir::Command put_of(std::uint64_t lead) {
    ir::Command command;
    command.operation = ir::Operation::put;
    command.flags = ir::Flags::lead_last;
    std::memcpy(command.head.data(), &lead, sizeof lead);
    command.head_bytes = sizeof lead;
    command.bytes = 0;
    return command;
  }

  // As RecordWriter::write_exclusive.
  void write() {
    for (std::uint64_t record = 0; record < sizes_.size(); ++record) {
      const std::uint64_t bytes = 8 * sizes_[record];
      const std::uint64_t span = engine::record_span(bytes);
      const Writer::Room room = writer_->room_for(span);
      assume(room != Writer::Room::none); // it comes when the reader's report is seen
      if (room == Writer::Room::after_wrap) {
        translators::execute_put<ModelMemory>(put_of(Lead{.kind = RecordKind::wrap}.pack()),
                                              memory(writer_->next_offset()));
        writer_->wrap();
      }
      std::array<std::uint64_t, 5> payload{};
      for (std::uint64_t i = 0; i < sizes_[record]; ++i) payload.at(i) = word(record, i);
      const std::uint64_t lead = Lead{.kind = RecordKind::eager, .bytes = static_cast<std::uint32_t>(bytes)}.pack();
      std::byte* local = reinterpret_cast<std::byte*>(payload.data());
      std::byte* to = memory(writer_->next_offset());
      if (by_commands_) {
        ir::Command command = put_of(lead);
        command.flags = command.flags | ir::Flags::terminated;
        std::memcpy(command.head.data() + kLeadBytes, &record, sizeof record);
        command.head_bytes = kRecordHeadBytes;
        command.local = local;
        command.bytes = bytes;
        translators::execute_put<ModelMemory>(command, to);
      } else {
        ir::store_record<ModelMemory>({.lead = lead, .second = record, .local = local, .bytes = bytes}, to);
      }
      writer_->advance(span);
    }
  }

  // As Engine::read_ring and RecordWriter::report_consumed. A look that finds nothing changes nothing, and is left out.
  void read() {
    for (std::uint64_t record = 0; record < sizes_.size();) {
      const std::uint64_t found = reader_->peek();
      assume(found != 0);
      check(Lead::plausible(found), "the reader finds garbage where a lead word should be");
      const Lead lead = Lead::unpack(found);
      if (lead.kind == RecordKind::wrap) {
        reader_->wrap();
        continue;
      }
      const std::uint64_t bytes = 8 * sizes_[record];
      check(lead.bytes == bytes, "the reader finds another record than the next");
      std::array<std::uint64_t, 6> content{};
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(content.data()), reader_->record() + kLeadBytes, 8 + bytes);
      check(content[0] == record, "the tag is another record's");
      for (std::uint64_t i = 0; i < sizes_[record]; ++i)
        check(content.at(i + 1) == word(record, i), "the payload is another record's");
      reader_->advance(engine::record_span(bytes));
      ++record;
      if (!reader_->report_due()) continue;
      translators::execute_put<ModelMemory>(put_of(reader_->consumed()), reinterpret_cast<std::byte*>(&consumed_));
      reader_->reported();
    }
  }

  const std::vector<std::uint64_t> sizes_;
  const bool by_commands_;
  alignas(64) std::array<std::uint64_t, kCapacity / 8> memory_{};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
  std::optional<Writer> writer_;
  std::optional<engine::BasicRingReader<ModelMemory>> reader_;
};

TEST(EveryOrder, OfARingKeepsRecordsWholeAndInOrder) {
  // Lead words of the second lap stand where the first had payload, and the other way round.
  RingProgram stored({5, 2, 5, 2, 2, 5, 2, 5}, false);
  RingProgram put({2, 5, 2, 5, 5, 2, 5}, true);
  expect_sound_and_minimal({{"records stored", stored.program()}, {"records put", put.program()}});
}

} // namespace
} // namespace heddle::memory_order
