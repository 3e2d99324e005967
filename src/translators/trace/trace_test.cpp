#include "translators/trace/trace.hpp"

#include "translators/loopback/loopback.hpp"
#include "translators/trace/replay.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace heddle::translators {
namespace {

ir::Command add(std::uint64_t cookie, std::uint64_t operand) {
  ir::Command command;
  command.operation = ir::Operation::fetch_and_add;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{1};
  command.cookie = cookie;
  command.remote = {.key = ir::MemoryKey{1}, .offset = 8};
  command.operand = operand;
  return command;
}

// A program without clock and chance: adds 3, then the old value + 1, ... until it has seen `rounds` answers.
// It polls twice between two commands.
void run(ir::Translator& translator, std::uint64_t rounds, std::uint64_t first = 3) {
  std::uint64_t operand = first;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const ir::Command command = add(i, operand);
    for (int tries = 0; translator.submit({&command, 1}) == 0 && tries < 100; ++tries) translator.poll({});
    for (int polls = 0; polls < 2; ++polls) {
      std::array<ir::Event, 4> events;
      if (translator.poll(events) > 0) operand = events[0].value + 1;
    }
  }
}

class Recording : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(right.allocate(64));
    ASSERT_TRUE(left.attach(ir::Peer{1}, right.address()));
  }
  [[nodiscard]] std::string text() const {
    std::string lines;
    for (const TraceRecord& record : records) lines += to_text(record) + "\n";
    return lines;
  }

  LoopbackFabric fabric{2};
  Loopback left{fabric, ir::Peer{0}};
  Loopback right{fabric, ir::Peer{1}};
  std::vector<TraceRecord> records;
  Trace trace{left, records};
};

TEST_F(Recording, HoldsEveryCommandAndEventInOrder) {
  run(trace, 2);
  EXPECT_EQ(text(),
            "0 @0 > fetch_and_add peer=1 remote=1+0x8 cookie=0x0 flags=signalled engines=any/any path=any operand=0x3\n"
            "1 @1 < completed peer=1 status=ok cookie=0x0 value=0x0 vendor=0\n"
            "2 @2 > fetch_and_add peer=1 remote=1+0x8 cookie=0x1 flags=signalled engines=any/any path=any operand=0x1\n"
            "3 @3 < completed peer=1 status=ok cookie=0x1 value=0x3 vendor=0\n");
  EXPECT_EQ(records[3].peer, ir::Peer{1});
}

TEST_F(Recording, HoldsAlsoThatAPeerFailed) {
  fabric.kill(ir::Peer{1});
  run(trace, 1);
  EXPECT_EQ(text(),
            "0 @0 > fetch_and_add peer=1 remote=1+0x8 cookie=0x0 flags=signalled engines=any/any path=any operand=0x3\n"
            "1 @1 < peer_failed peer=1 status=ok cookie=0x0 value=0x0 vendor=0\n"
            "2 @1 < completed peer=1 status=peer_lost cookie=0x0 value=0x0 vendor=0\n");
}

TEST_F(Recording, ReadsBackFromItsText) {
  run(trace, 5);
  const auto read = parse_trace(text());
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(to_text((*read)[i]), to_text(records[i]));
    EXPECT_EQ((*read)[i].peer, records[i].peer);
  }
}

TEST_F(Recording, ReplaysToTheSameProgramWithoutADifference) {
  run(trace, 20);
  std::vector<TraceRecord> again;
  Replay replay(left, *parse_trace(text()));
  Trace second(replay, again);
  run(second, 20);
  EXPECT_TRUE(replay.finished()) << replay.finished().error().message();
  std::string lines;
  for (const TraceRecord& record : again) lines += to_text(record) + "\n";
  EXPECT_EQ(lines, text()) << "the same polls gave the same events";
}

TEST_F(Recording, TellsTheFirstCommandThatIsAnother) {
  run(trace, 3);
  Replay replay(left, records);
  run(replay, 3, 4);
  ASSERT_TRUE(replay.difference());
  EXPECT_EQ(replay.difference()->fact,
            "record 0 of the trace is '" + records[0].text +
                "', now it is 'fetch_and_add peer=1 remote=1+0x8 cookie=0x0 flags=signalled engines=any/any path=any "
                "operand=0x4'");
  EXPECT_EQ(replay.difference()->peer, 1);
  EXPECT_FALSE(replay.finished());
}

TEST_F(Recording, EndsEverySignalledCommandAfterADifference) {
  const std::array<ir::Command, 3> commands = {add(1, 1), add(2, 2), add(3, 3)};
  ASSERT_EQ(trace.submit(commands), 3U);
  std::array<ir::Event, 8> events;
  ASSERT_EQ(trace.poll(events), 3U);
  Replay replay(left, records);
  const std::array<ir::Command, 3> others = {add(1, 1), add(2, 0), add(3, 3)};
  EXPECT_EQ(replay.submit(others), 3U);
  ASSERT_EQ(replay.poll(events), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i].status, ir::Status::failed);
    EXPECT_EQ(events[i].cookie, i + 1);
  }
  EXPECT_EQ(replay.poll(events), 0U);
}

TEST_F(Recording, TellsWhenTheProgramDoesMoreOrLess) {
  run(trace, 3);
  Replay more(left, records);
  run(more, 4);
  ASSERT_TRUE(more.difference());
  EXPECT_NE(more.difference()->fact.find("record 6 of the trace is nothing more, now it is"), std::string::npos);
  Replay less(left, records);
  run(less, 2);
  EXPECT_FALSE(less.difference());
  ASSERT_FALSE(less.finished());
  EXPECT_NE(less.finished().error().fact.find("now nothing came"), std::string::npos);
}

std::string fact_of(std::string_view text) {
  const auto read = parse_trace(text);
  return read ? "accepted" : read.error().fact;
}

TEST(TraceText, ThatIsWrongIsRefusedWithItsLine) {
  const std::string good = "0 @0 < completed peer=1 status=ok cookie=0x0 value=0x0 vendor=0\n";
  EXPECT_EQ(fact_of(""), "accepted");
  EXPECT_EQ(fact_of(good), "accepted");
  EXPECT_EQ(fact_of(good + "garbage"), "line 2 of the trace: 'garbage' does not begin with 'NUMBER @POLL > ' or '< '");
  EXPECT_EQ(fact_of(good + good), "line 2 of the trace: number 0 stands where 1 belongs");
  EXPECT_EQ(fact_of("0 @5" + good.substr(4) + "1 @4" + good.substr(4)),
            "line 2 of the trace: poll 4 comes after poll 5");
  EXPECT_TRUE(fact_of("0 @0 > leap peer=1").starts_with("line 1 of the trace: 'leap' is not the name of a command"));
  EXPECT_TRUE(fact_of("0 @0 < leap peer=1").starts_with("line 1 of the trace: 'leap' is not the name of an event"));
}

} // namespace
} // namespace heddle::translators
