// Memory that its owner takes away: nobody touches an area once close has returned, or finds another one in its place.
#include "translators/shm/areas.hpp"
#include "ir/direct_area.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

using namespace translators;

constexpr std::uint64_t kKey = kAreaKey | 5;

// The user goes in twice; the owner closes, and uses the memory for something else.
class AreaProgram {
 public:
  explicit AreaProgram(bool barrier) : barrier_(barrier) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { close(); }, [this] { use(); }}};
  }

 private:
  std::byte* memory() { return reinterpret_cast<std::byte*>(&memory_); }
  void use() {
    const ir::DirectArea direct{.memory = memory(),
                                .live = &entry_.key,
                                .key = kKey,
                                .inside = &inside_.process,
                                .mark = 9,
                                .fenced = !barrier_};
    for (std::uint64_t i = 1; i <= 2; ++i) {
      if (!direct.enter<ModelMemory>()) return;
      std::uint64_t seen = 0;
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(&seen), memory(), sizeof seen);
      check(seen == 70 + i - 1, "not what was opened, or what this process has written there");
      ModelMemory::plain_store(memory(), 70 + i);
      direct.leave<ModelMemory>();
    }
  }
  // As OwnAreas::open and close.
  void close() {
    ModelMemory::plain_store(memory(), 70);
    open_entry<ModelMemory>(entry_, {.bytes = 8, .segment = {}, .address = 0}, kKey);
    close_entry<ModelMemory>(entry_, barrier_);
    assume(is_inside<ModelMemory>(inside_) == 0);
    ModelMemory::plain_store(memory(), 1);
  }

  const bool barrier_;
  alignas(64) std::uint64_t memory_ = 0;
  AreaEntry entry_{};
  InsideWord inside_{};
};

// The owner closes an area and opens another one in its entry, while a peer reads the entry to find the first.
class EntryProgram {
 public:
  explicit EntryProgram(bool barrier) : barrier_(barrier) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {},
            .threads = {[this] {
                          open_entry<ModelMemory>(entry_, content(7), kKey);
                          close_entry<ModelMemory>(entry_, barrier_);
                          open_entry<ModelMemory>(entry_, content(8), kKey + 1);
                        },
                        [this] {
                          AreaContent found;
                          if (!read_entry<ModelMemory>(entry_, kKey, found)) return;
                          check(found.bytes == 7 && found.segment.inode == 7 && found.address == 7,
                                "an area is found under another one's key");
                        }}};
  }

 private:
  static AreaContent content(std::uint64_t value) {
    return {.bytes = value, .segment = {.inode = value}, .address = value};
  }
  const bool barrier_;
  AreaEntry entry_{};
};

// The owner makes its table, in memory that held something else before, and opens an area; a peer looks for an area that it only
// believes to be there.
class TableProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [] {},
            .threads = {[this] {
                          ModelMemory::plain_store(reinterpret_cast<std::byte*>(&entry_.key),
                                                   0); // as Segment::allocate
                          publish_table<ModelMemory>(header_, kOffset);
                          open_entry<ModelMemory>(entry_, {.bytes = 7, .segment = {}, .address = 7}, kKey);
                        },
                        [this] {
                          const std::uint64_t offset = table_offset<ModelMemory>(header_);
                          if (offset == 0) return;
                          check(offset == kOffset, "a table where none is");
                          AreaContent found;
                          check(!read_entry<ModelMemory>(entry_, kGarbage, found), "an area that nobody has opened");
                        }}};
  }

 private:
  static constexpr std::uint64_t kOffset = 64;
  static constexpr std::uint64_t kGarbage = 77;
  SegmentHeader header_{};
  AreaEntry entry_{.key = kGarbage, .words = {}};
};

TEST(EveryOrder, OfAnAreaLetsNobodyStayInsideOrFindAnother) {
  AreaProgram closed(true);
  AreaProgram closed_by_fences(false);
  EntryProgram reopened(true);
  EntryProgram reopened_by_fences(false);
  TableProgram table;
  expect_sound_and_minimal({{"the first one", table.program()},
                            {"closed, with a barrier everywhere", closed.program()},
                            {"closed, with fences", closed_by_fences.program()},
                            {"another opened, with a barrier everywhere", reopened.program()},
                            {"another opened, with fences", reopened_by_fences.program()}});
}

} // namespace
} // namespace heddle::memory_order
