// Records of which more comes than an end stay in their ring while memory is short; those that only end something are taken.
#include "tests/memory/failing_new.hpp"

#include "base/reserve.hpp"
#include "engine/handlers.hpp"

#include <gtest/gtest.h>

#include <array>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::engine {
namespace {

struct Counting {
  int beginnings = 0;
  int ends = 0;
};

TEST(HandlersShortOfMemory, TakeWhatEndsSomethingAndLeaveTheRest) {
  ASSERT_TRUE(base::Reserve::keep());
  Handlers handlers;
  Counting counting;
  Connection connection;
  handlers.set(RecordKind::eager, record_row(counting, Begins::yes,
                                             [](Counting& self, Connection&, Lead, std::uint64_t, const std::byte*) {
                                               ++self.beginnings;
                                               return Taken::yes;
                                             }));
  handlers.set(RecordKind::finish,
               body_row<Finish>(counting, Begins::no, [](Counting& self, Connection&, const Finish&) {
                 ++self.ends;
                 return true;
               }));
  const std::array<std::byte, 64> record{};
  const auto take = [&](RecordKind kind) {
    return handlers.take(connection, {.kind = kind, .channel = Channel::program, .bytes = sizeof(Finish)},
                         record.data());
  };
  EXPECT_EQ(take(RecordKind::eager), Taken::yes);

  tests::no_memory = true;
  void* drawn = base::Reserve::take(8);
  const Taken beginning = take(RecordKind::eager);
  const Taken end = take(RecordKind::finish);
  tests::no_memory = false;
  EXPECT_EQ(beginning, Taken::later);
  EXPECT_EQ(end, Taken::yes);
  EXPECT_EQ(counting.beginnings, 1);
  EXPECT_EQ(counting.ends, 1);

  EXPECT_EQ(take(RecordKind::eager), Taken::yes) << "there is memory again";
  EXPECT_EQ(counting.beginnings, 2);
  base::Reserve::give_back(drawn);
}

} // namespace
} // namespace heddle::engine

#endif
