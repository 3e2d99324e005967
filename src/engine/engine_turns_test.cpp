#include "engine/engine_turns.hpp"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(EngineTurns, HaveNothingToChooseWhereThereIsOneEngine) {
  EngineTurns none;
  EngineTurns one(1);
  EXPECT_EQ(none.take(), ir::kAnyEngine);
  EXPECT_EQ(one.take(), ir::kAnyEngine);
  EXPECT_EQ(one.engine_of(0, 3), ir::kAnyEngine);
  one.give_back(ir::kAnyEngine);
}

TEST(EngineTurns, GiveTheEngineWithTheFewestMessages) {
  EngineTurns turns(3);
  for (const int expected : {0, 1, 2, 0}) EXPECT_EQ(turns.take(), expected);
  turns.give_back(2);
  EXPECT_EQ(turns.take(), 2);
  turns.give_back(0);
  turns.give_back(0);
  EXPECT_EQ(turns.take(), 0);
}

TEST(EngineTurns, SpreadTheChunksOfAMessageThatIsAlone) {
  EngineTurns turns(4);
  const std::uint8_t first = turns.take();
  EXPECT_EQ(turns.engine_of(first, 0), 0);
  EXPECT_EQ(turns.engine_of(first, 5), 1);
  const std::uint8_t second = turns.take();
  EXPECT_EQ(turns.engine_of(first, 5), 0);
  EXPECT_EQ(turns.engine_of(second, 5), 1);
  turns.give_back(first);
  EXPECT_EQ(turns.engine_of(second, 5), 2);
  EXPECT_EQ(turns.engine_of(second, 5, true), 1) << "others will need these engines";
}

} // namespace
} // namespace heddle::engine
