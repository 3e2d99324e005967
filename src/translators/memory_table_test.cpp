#include "translators/memory_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace heddle::translators {
namespace {

TEST(MemoryTable, AgreesWithAMapWhileAreasComeAndGo) {
  MemoryTable table;
  std::array<std::byte, 4096> memory{};
  std::map<std::uint64_t, std::size_t> areas; // key -> bytes from the start of `memory`
  std::mt19937_64 random(7);
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t key = random() % 600 * (random() % 2 == 0 ? 1 : std::uint64_t{1} << 32U);
    const auto found = areas.find(key);
    ASSERT_EQ(table.holds(ir::MemoryKey{key}), found != areas.end());
    const std::size_t bytes = found == areas.end() ? 0 : found->second;
    ASSERT_EQ(table.reach({.key = ir::MemoryKey{key}, .offset = 0}, bytes),
              found == areas.end() ? nullptr : memory.data());
    ASSERT_EQ(table.reach({.key = ir::MemoryKey{key}, .offset = 1}, bytes), nullptr);
    if (found != areas.end()) {
      table.withdraw(ir::MemoryKey{key});
      areas.erase(found);
    } else {
      areas[key] = random() % memory.size();
      table.expose(ir::MemoryKey{key}, std::span(memory).first(areas[key]));
    }
  }
}

TEST(MemoryTable, ReachesNothingWhereNothingIsExposed) {
  MemoryTable table;
  const ir::RemotePlace place = table.expose(ir::MemoryKey{5}, {});
  EXPECT_NE(table.reach(place, 0), nullptr);
  EXPECT_EQ(table.reach(place, 1), nullptr);
}

TEST(MemoryTable, KeepsWithdrawnMemoryUntilItIsGivenBack) {
  MemoryTable table;
  const auto made = table.allocate(ir::MemoryKey{5}, 100);
  ASSERT_TRUE(made);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made->memory.data()) % 64, 0U);
  for (const std::byte byte : made->memory) EXPECT_EQ(byte, std::byte{0});
  table.withdraw(ir::MemoryKey{5});
  EXPECT_EQ(table.reach(made->place, 1), nullptr);
  EXPECT_TRUE(table.holds(ir::MemoryKey{5}));
  made->memory[99] = std::byte{1};
  table.deallocate(*made);
  EXPECT_FALSE(table.holds(ir::MemoryKey{5}));
}

TEST(MemoryTable, RefusesWhatNoMachineHas) {
  MemoryTable table;
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} / 2, ~std::size_t{0} / 600})
    EXPECT_FALSE(table.allocate(ir::MemoryKey{1}, bytes)) << bytes;
}

} // namespace
} // namespace heddle::translators
