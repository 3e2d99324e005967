#include "translators/faulty/faulty.hpp"

#include "ir/text.hpp"
#include "translators/contract/network.hpp"
#include "translators/loopback/loopback.hpp"
#include "translators/trace/trace.hpp"

#include <gtest/gtest.h>

#include <map>

namespace heddle::translators {
namespace {

using contract::fetch_and_add;
using contract::load_word;
using contract::put;
using contract::put_word;

constexpr std::uint32_t kPeers = 3;

// A network that says it does not order puts, over one that does.
class UnorderedNetwork final : public Decorator {
 public:
  explicit UnorderedNetwork(ir::Translator& inner) : Decorator(inner), capabilities_(inner.capabilities()) {
    capabilities_.orders_puts = false;
  }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }

 private:
  ir::Capabilities capabilities_;
};

// Peer 0 behind a faulty network; peers 1 and 2 as they are.
class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(zero.allocate(64));
    for (Loopback* peer : {&one, &two}) memory.push_back(peer->allocate(4096)->memory);
  }
  static void attach(ir::Translator& translator) {
    for (std::uint32_t rank = 1; rank < kPeers; ++rank) ASSERT_TRUE(translator.attach(ir::Peer{rank}, {}));
  }
  static ir::Command signalled(ir::Command command, std::uint64_t cookie) {
    command.flags = command.flags | ir::Flags::signalled;
    command.cookie = cookie;
    return command;
  }
  static std::vector<ir::Event> polled(ir::Translator& translator, int polls = 100) {
    std::vector<ir::Event> all;
    std::array<ir::Event, 16> batch;
    for (int i = 0; i < polls; ++i) {
      const std::size_t count = translator.poll(batch);
      all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
  }
  [[nodiscard]] std::uint64_t word(std::uint32_t rank, std::size_t offset = 0) const {
    return load_word(memory[rank - 1].data() + offset);
  }

  static constexpr ir::RemotePlace kThere{.key = ir::MemoryKey{1}, .offset = 0};
  LoopbackFabric fabric{kPeers};
  Loopback zero{fabric, ir::Peer{0}};
  Loopback one{fabric, ir::Peer{1}};
  Loopback two{fabric, ir::Peer{2}};
  std::vector<std::span<std::byte>> memory; // of peers 1 and 2
};

TEST_F(Faults, ShortCountsTakeFewerButNeverSkip) {
  Faulty faulty(zero, {.seed = 3, .short_count = 0.5});
  attach(faulty);
  std::vector<ir::Command> commands;
  for (std::uint64_t i = 0; i < 8; ++i) commands.push_back(put_word(1, kThere.at(8 * i), i + 1));
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 400; ++i) {
    std::fill(memory[0].begin(), memory[0].end(), std::byte{0});
    const std::size_t taken = faulty.submit(commands);
    ++counts[taken];
    for (std::uint64_t j = 0; j < 8; ++j) ASSERT_EQ(word(1, 8 * j), j < taken ? j + 1 : 0);
  }
  EXPECT_EQ(counts.size(), 9U) << "from none to all";
  EXPECT_GT(counts[8], 150);
}

TEST_F(Faults, AHeldCommandWaitsForPollsAndThenIsCarriedOut) {
  Faulty faulty(zero, {.delay_command = 1, .longest_delay = 4});
  attach(faulty);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const ir::Command command = signalled(put_word(1, kThere, i), i);
    ASSERT_EQ(faulty.submit({&command, 1}), 1U);
    EXPECT_EQ(word(1), i - 1) << "not before a poll";
    EXPECT_EQ(faulty.held(), 1U);
    const auto events = polled(faulty, 4);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].cookie, i);
    EXPECT_EQ(word(1), i);
  }
}

TEST_F(Faults, CommandsToOnePeerKeepTheirOrderAndOthersOvertake) {
  std::vector<TraceRecord> records;
  Trace below(zero, records);
  Faulty traced(below, {.seed = 5, .delay_command = 0.5, .reorder_commands = true});
  attach(traced);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const ir::Command command = put_word(1 + static_cast<std::uint32_t>(i % 2), kThere, i);
    ASSERT_EQ(traced.submit({&command, 1}), 1U);
    if (i % 3 == 0) traced.poll({});
  }
  polled(traced);
  ASSERT_EQ(records.size(), 200U);
  std::map<ir::Peer, std::uint64_t> last;
  bool overtaken = false;
  std::uint64_t highest = 0;
  for (const TraceRecord& record : records) {
    std::uint64_t number = 0;
    std::memcpy(&number, ir::parse_command(record.text)->head.data(), sizeof number);
    EXPECT_GE(number, last[record.peer]);
    last[record.peer] = number;
    overtaken = overtaken || number < highest;
    highest = std::max(highest, number);
  }
  EXPECT_TRUE(overtaken);
}

TEST_F(Faults, CommandsAreReorderedOnlyWhereTheNetworkDoesNotOrderPuts) {
  UnorderedNetwork unordered(zero);
  for (const bool reorder : {false, true}) {
    std::vector<TraceRecord> records;
    Trace below(unordered, records);
    Faulty faulty(below, {.delay_command = 0.5, .reorder_commands = reorder});
    attach(faulty);
    for (std::uint64_t i = 0; i < 100; ++i) {
      const ir::Command command = signalled(put_word(1, kThere, i), i);
      ASSERT_EQ(faulty.submit({&command, 1}), 1U);
    }
    polled(faulty);
    std::vector<std::uint64_t> order;
    for (const TraceRecord& record : records)
      if (record.kind == TraceRecord::Kind::command) order.push_back(ir::parse_command(record.text)->cookie);
    ASSERT_EQ(order.size(), 100U);
    EXPECT_EQ(std::is_sorted(order.begin(), order.end()), !reorder);
  }
}

TEST_F(Faults, AHeldPutKeepsItsContentsThoughItsMemoryIsReused) {
  Faulty faulty(zero, {.delay_command = 1, .longest_delay = 1});
  attach(faulty);
  for (const std::size_t bytes : {1U, 8U, 100U, 4096U}) {
    std::vector<std::byte> data = contract::pattern(bytes, 1);
    const ir::Command command = put(1, kThere, data);
    ASSERT_EQ(faulty.submit({&command, 1}), 1U);
    std::fill(data.begin(), data.end(), std::byte{0});
    data = {};
    polled(faulty, 2);
    EXPECT_EQ(std::memcmp(memory[0].data(), contract::pattern(bytes, 1).data(), bytes), 0);
  }
}

TEST_F(Faults, EventsAreDelayedAndReorderedButComeOnce) {
  Faulty faulty(zero, {.delay_event = 0.5, .reorder_events = 0.5});
  attach(faulty);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const ir::Command command = signalled(fetch_and_add(1, kThere, 1), i);
    ASSERT_EQ(faulty.submit({&command, 1}), 1U);
  }
  EXPECT_EQ(word(1), 200U) << "commands are not";
  std::vector<std::uint64_t> cookies;
  for (const ir::Event& event : polled(faulty)) {
    cookies.push_back(event.cookie);
    EXPECT_EQ(event.value, event.cookie) << "each event keeps its own old value";
  }
  EXPECT_FALSE(std::is_sorted(cookies.begin(), cookies.end()));
  std::sort(cookies.begin(), cookies.end());
  ASSERT_EQ(cookies.size(), 200U);
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_EQ(cookies[i], i);
}

TEST_F(Faults, RefusalsChangeNothingAndHitSignalledCommandsOnly) {
  Faulty faulty(zero, {.refuse = 1});
  attach(faulty);
  const std::array<ir::Command, 2> commands = {signalled(put_word(1, kThere, 1), 7), put_word(1, kThere.at(8), 2)};
  ASSERT_EQ(faulty.submit(commands), 2U);
  const auto events = polled(faulty);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].status, ir::Status::refused);
  EXPECT_EQ(events[0].cookie, 7U);
  EXPECT_EQ(word(1), 0U);
  EXPECT_EQ(word(1, 8), 2U);
}

TEST_F(Faults, OnlyLargeReadsAreRefusedWhereMessagesCannotBeRead) {
  Faulty faulty(zero, {.refuse_reads = true});
  attach(faulty);
  std::vector<std::byte> into(2049);
  for (const std::uint64_t bytes : {2048U, 2049U}) {
    ir::Command get{.operation = ir::Operation::get,
                    .flags = ir::Flags::signalled,
                    .peer = ir::Peer{1},
                    .remote = kThere,
                    .local = into.data(),
                    .bytes = bytes};
    ASSERT_EQ(faulty.submit({&get, 1}), 1U);
    const auto events = polled(faulty, 2);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].status, bytes <= 2048 ? ir::Status::ok : ir::Status::refused);
  }
}

TEST_F(Faults, ACutPeerFailsOnceAndLosesEveryCommand) {
  Faulty faulty(zero, {.delay_command = 0.5, .delay_event = 0.5, .cuts = {{.peer = ir::Peer{1}, .at_command = 50}}});
  attach(faulty);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const ir::Command command = signalled(put_word(1 + static_cast<std::uint32_t>(i % 2), kThere, i), i);
    ASSERT_EQ(faulty.submit({&command, 1}), 1U);
  }
  faulty.cut(ir::Peer{1}); // again: nothing happens
  std::map<std::uint64_t, int> ended;
  int failures = 0;
  for (const ir::Event& event : polled(faulty)) {
    if (event.kind == ir::EventKind::peer_failed) {
      ++failures;
      EXPECT_EQ(event.peer, ir::Peer{1});
      continue;
    }
    ++ended[event.cookie];
    EXPECT_EQ(event.status, event.peer == ir::Peer{1} ? ir::Status::peer_lost : ir::Status::ok);
  }
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(ended.size(), 100U);
  for (const auto& [cookie, times] : ended) EXPECT_EQ(times, 1) << cookie;
  EXPECT_LT(word(1), 50U);
  EXPECT_EQ(word(2), 99U);
  const auto again = faulty.attach(ir::Peer{1}, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::unreachable);
  EXPECT_EQ(again.error().peer, 1);
}

TEST_F(Faults, APeerThatFailsBelowAndIsCutAboveFailsOnce) {
  Faulty faulty(zero, {});
  attach(faulty);
  faulty.cut(ir::Peer{1});
  fabric.kill(ir::Peer{1});
  fabric.kill(ir::Peer{2});
  std::map<ir::Peer, int> failures;
  for (const ir::Event& event : polled(faulty)) ++failures[event.peer];
  EXPECT_EQ(failures, (std::map<ir::Peer, int>{{ir::Peer{1}, 1}, {ir::Peer{2}, 1}}));
}

TEST_F(Faults, AProcessKilledAtACommandReachesNobodyFromThenOn) {
  int kills = 0;
  Faulty faulty(zero, {.delay_command = 0.3, .kill_at_command = 11, .on_kill = [&] {
                         ++kills;
                         fabric.kill(ir::Peer{0});
                       }});
  attach(faulty);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(faulty.killed(), i > 11);
    const ir::Command command = signalled(put_word(1, kThere, i), i);
    ASSERT_EQ(faulty.submit({&command, 1}), 1U);
  }
  EXPECT_EQ(kills, 1);
  std::map<std::uint64_t, int> ended;
  for (const ir::Event& event : polled(faulty)) {
    EXPECT_EQ(event.status, ir::Status::peer_lost);
    ++ended[event.cookie];
  }
  EXPECT_EQ(ended.size(), 20U);
  EXPECT_LT(word(1), 11U);
  EXPECT_FALSE(faulty.attach(ir::Peer{2}, {}));
  std::array<ir::Event, 4> events;
  ASSERT_EQ(one.poll(events), 1U) << "the others are told";
  EXPECT_EQ(events[0].kind, ir::EventKind::peer_failed);
  EXPECT_EQ(events[0].peer, ir::Peer{0});
}

TEST_F(Faults, DetachingSendsWhatIsHeldFirst) {
  Faulty faulty(zero, {.delay_command = 1});
  attach(faulty);
  const ir::Command command = put_word(1, kThere, 5);
  ASSERT_EQ(faulty.submit({&command, 1}), 1U);
  faulty.detach(ir::Peer{1});
  EXPECT_EQ(word(1), 5U);
}

TEST_F(Faults, AllocationsEndWhenThePlanSaysSo) {
  Faulty faulty(zero, {.allocations = 2});
  EXPECT_TRUE(faulty.allocate(64));
  EXPECT_TRUE(faulty.allocate(64));
  const auto refused = faulty.allocate(64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
}

// Everything at once, twice from one seed and once from another, seen from above.
TEST_F(Faults, AreTheSameFromTheSameSeed) {
  const auto run = [&](std::uint64_t seed) {
    std::string text;
    Faulty faulty(zero, {.seed = seed,
                         .short_count = 0.2,
                         .delay_command = 0.3,
                         .delay_event = 0.3,
                         .reorder_events = 0.3,
                         .refuse = 0.1,
                         .cuts = {{.peer = ir::Peer{2}, .at_command = 150}}});
    Trace trace(faulty, [&](const TraceRecord& record) { text += to_text(record) + "\n"; });
    attach(trace);
    for (std::uint64_t i = 0; i < 300; ++i) {
      const ir::Command command = signalled(put_word(1 + static_cast<std::uint32_t>(i % 2), kThere, i), i);
      while (trace.submit({&command, 1}) == 0) polled(trace, 1);
    }
    polled(trace);
    EXPECT_EQ(faulty.held(), 0U);
    EXPECT_EQ(faulty.commands_taken(), 300U);
    return text;
  };
  const std::string first = run(1);
  EXPECT_EQ(run(1), first);
  EXPECT_NE(run(2), first);
}

} // namespace
} // namespace heddle::translators
