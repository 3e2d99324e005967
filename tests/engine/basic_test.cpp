// Small cases of the engine over loopback: one thing each.
#include "tests/engine/cluster.hpp"
#include "translators/decorator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

namespace heddle::tests {
namespace {

using engine::Engine;

std::vector<std::byte> pattern(std::size_t bytes, unsigned salt) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + salt * 17 + (i >> 8U)) & 0xffU);
  return data;
}

Completion finish(Cluster& cluster, std::uint32_t rank, Request request) {
  for (int i = 0; i < 2'000'000; ++i) {
    if (auto completion = cluster[rank].take_completion(request)) return *completion;
    cluster.progress();
  }
  ADD_FAILURE() << "never ends: " << cluster[rank].waiting_for();
  return {.code = ErrorCode::timed_out};
}

TEST(Engine, SendsAFirstMessageOfZeroBytes) {
  Cluster cluster(2, usual_limits());
  const Request sent = *cluster[0].send({.to = Rank{1}, .tag = Tag{3}}, ConstLayout());
  const Request received = *cluster[1].receive({.source = Rank{0}, .tag = Tag{3}}, Layout(), {});
  EXPECT_EQ(finish(cluster, 1, received).code, ErrorCode::ok);
  EXPECT_EQ(finish(cluster, 0, sent).code, ErrorCode::ok);
}

TEST(Engine, SaysOnceWhatManyWaitFor) {
  Cluster cluster(2, usual_limits());
  std::vector<Request> receives;
  for (int i = 0; i < 1000; ++i)
    receives.push_back(*cluster[0].receive({.source = Rank{1}, .tag = Tag{7}}, Layout(), {}));
  receives.push_back(*cluster[0].receive({.source = Rank{1}, .tag = Tag{8}}, Layout(), {}));
  EXPECT_EQ(cluster[0].waiting_for(),
            "receive from rank 1 tag 0x7: waits for a matching message, 1000 of them\n"
            "receive from rank 1 tag 0x8: waits for a matching message\n");
  for (const Request receive : receives) EXPECT_TRUE(cluster[0].cancel(receive));
}

class Counting : public translators::Decorator {
 public:
  explicit Counting(ir::Translator& inner) : Decorator(inner) {}
  std::size_t poll(std::span<ir::Event> events) override {
    ++polls;
    return Decorator::poll(events);
  }
  std::uint64_t polls = 0;
};

TEST(Engine, RarelyAsksANetworkThatNoPeerIsReachedBy) {
  for (const auto manner :
       {translators::LoopbackFabric::Manner::announcing, translators::LoopbackFabric::Manner::connected}) {
    translators::LoopbackFabric used(2, translators::LoopbackFabric::Manner::connected);
    translators::LoopbackFabric unused(2, manner);
    translators::Loopback first(used, ir::Peer{0});
    translators::Loopback second(unused, ir::Peer{0});
    Counting counting(second);
    engine::ScheduleQueue first_queue(first);
    engine::ScheduleQueue second_queue(counting);
    const std::array<engine::ScheduleQueue*, 2> queues{&first_queue, &second_queue};
    base::FlightRecorder recorder{64};
    const auto engine = *Engine::create(0, 2, usual_limits(), queues, recorder);
    engine->set_contacts(std::vector<engine::Contact>(2));
    for (int i = 0; i < 6400; ++i) engine->progress();
    EXPECT_LE(counting.polls, 100U);
    EXPECT_GT(counting.polls, 10U) << "its failures are never heard of";
  }
}

TEST(Engine, SendsToItselfWhenAllCommandSlotsAreTaken) {
  Cluster cluster(80, usual_limits());
  for (std::uint32_t to = 1; to < 80; ++to)
    ASSERT_TRUE(cluster[0].send({.to = Rank{to}, .tag = Tag{1}}, ConstLayout()).has_value());
  cluster[0].progress();
  const auto data = pattern(100, 1);
  std::vector<std::byte> into(100);
  const auto sent = cluster[0].send({.to = Rank{0}, .tag = Tag{2}}, data);
  ASSERT_TRUE(sent.has_value()) << sent.error().message();
  const Request received = *cluster[0].receive({.source = Rank{0}, .tag = Tag{2}}, into, {});
  EXPECT_EQ(finish(cluster, 0, received).code, ErrorCode::ok);
  EXPECT_EQ(into, data);
}

TEST(Engine, ConnectsMoreProcessesAllToAllThanThereAreSlots) {
  for (const std::uint64_t seed : seeds(3)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    constexpr std::uint32_t kSize = 100;
    engine::Limits limits = usual_limits();
    limits.ring_bytes = 4096;
    limits.eager_limit = 512;
    limits.ring_memory = 16 * 4096;
    Cluster cluster(kSize, limits, {.late_percent = 30}, seed);
    std::mt19937_64 random(seed);
    std::vector<Request> requests;
    std::vector<std::uint64_t> numbers(kSize * kSize);
    for (std::uint32_t from = 0; from < kSize; ++from) {
      std::vector<std::uint32_t> order(kSize);
      std::iota(order.begin(), order.end(), 0U);
      std::shuffle(order.begin(), order.end(), random);
      for (const std::uint32_t to : order) {
        const std::uint64_t number = from * kSize + to;
        const auto bytes = std::as_bytes(std::span(&number, 1));
        numbers[to * kSize + from] = number;
        // The number's memory must last: it is the receiver's place of the answer, equal already.
        ASSERT_TRUE(cluster[from].send({.to = Rank{to}, .tag = Tag{9}, .notify = Notify::event(0)},
                                       ConstLayout(&numbers[to * kSize + from], bytes.size())));
      }
    }
    std::vector<std::uint64_t> got(kSize * kSize);
    for (std::uint32_t at = 0; at < kSize; ++at)
      for (std::uint32_t from = 0; from < kSize; ++from)
        ASSERT_TRUE(cluster[at].receive({.source = Rank{from}, .tag = Tag{9}}, Layout(&got[at * kSize + from], 8),
                                        Notify::event(1)));
    cluster.settle();
    for (std::uint32_t at = 0; at < kSize; ++at) {
      EXPECT_EQ(cluster.node(at).figure("operations under way"), 0U) << cluster[at].waiting_for();
      EXPECT_EQ(cluster.node(at).figure("peers connected"), kSize);
      EXPECT_LE(cluster.node(at).figure("ring memory bytes"), limits.ring_memory);
    }
    EXPECT_EQ(got, numbers);
  }
}

// Two connections at once between all pairs, with everything late: the protocol of the machine over the real connector.
TEST(Engine, SettlesToOneConnectionHoweverLateWordsArrive) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    Cluster cluster(3, usual_limits(), {.refuse_percent = 10, .late_percent = 80}, seed);
    for (std::uint32_t step = 0; step < 200; ++step) {
      const auto at = static_cast<std::uint32_t>(random() % 3);
      if (step < 9) {
        const std::uint32_t from = step / 3;
        ASSERT_TRUE(
            cluster[from].send({.to = Rank{step % 3}, .tag = Tag{step}, .notify = Notify::event(0)}, ConstLayout()));
        ASSERT_TRUE(cluster[step % 3].receive({.source = Rank{from}, .tag = Tag{step}}, Layout(), Notify::event(0)));
      }
      cluster.progress(at);
    }
    cluster.settle();
    for (std::uint32_t at = 0; at < 3; ++at) {
      ASSERT_EQ(cluster.node(at).figure("operations under way"), 0U) << cluster[at].waiting_for();
      ASSERT_EQ(cluster.node(at).figure("peers connected"), 3U);
      std::array<Event, 32> events;
      const std::size_t count = cluster[at].take_events(events);
      ASSERT_EQ(count, 6U);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(events[i].completion.code, ErrorCode::ok);
    }
  }
}

TEST(Engine, WritesToASharedRingLongAfterTheOthers) {
  engine::Limits limits = usual_limits();
  limits.ring_memory = limits.ring_bytes; // all share
  for (int before = 0; before < 300; before += 7) {
    Cluster cluster(3, limits);
    std::array<std::byte, 8> into{};
    for (int i = 0; i <= before; ++i) {
      const Request sent = *cluster[1].send({.to = Rank{0}, .tag = Tag{1}}, ConstLayout());
      const Request received = *cluster[0].receive({.source = Rank{1}, .tag = Tag{1}}, into, {});
      ASSERT_EQ(finish(cluster, 0, received).code, ErrorCode::ok);
      ASSERT_EQ(finish(cluster, 1, sent).code, ErrorCode::ok);
    }
    const Request sent = *cluster[2].send({.to = Rank{0}, .tag = Tag{1}}, ConstLayout());
    const Request received = *cluster[0].receive({.source = Rank{2}, .tag = Tag{1}}, into, {});
    ASSERT_EQ(finish(cluster, 0, received).code, ErrorCode::ok) << "after " << before;
    ASSERT_EQ(finish(cluster, 2, sent).code, ErrorCode::ok);
  }
}

TEST(Engine, DeliversWhatAPeerOnTheSharedRingSentBeforeItDied) {
  engine::Limits limits = usual_limits();
  limits.ring_memory = limits.ring_bytes;
  Cluster cluster(2, limits);
  const auto data = pattern(64, 5);
  ASSERT_TRUE(cluster[1].send({.to = Rank{0}, .tag = Tag{1}}, data));
  for (int i = 0; i < 100; ++i) cluster[1].progress(), cluster[0].progress();
  ASSERT_TRUE(cluster[1].send({.to = Rank{0}, .tag = Tag{2}}, data));
  for (int i = 0; i < 10; ++i) cluster[1].progress(); // the second is in the ring, not read
  cluster.kill(1);
  cluster[0].peer_failed(1);
  std::vector<std::byte> into(64);
  const auto received = cluster[0].receive({.source = Rank{1}, .tag = Tag{2}}, into, {});
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(finish(cluster, 0, *received).code, ErrorCode::ok);
  EXPECT_EQ(into, data);
}

TEST(Engine, EndsWhatOnlyOneThatLeftCouldComplete) {
  Cluster cluster(3, usual_limits());
  std::array<std::byte, 8> early{};
  std::array<std::byte, 8> late{};
  const auto data = pattern(8, 1);
  ASSERT_TRUE(cluster[1].send({.to = Rank{0}, .tag = Tag{1}}, data).has_value());
  const Request heard = *cluster[0].receive({.source = Rank{1}, .tag = Tag{1}}, early, {});
  EXPECT_EQ(finish(cluster, 0, heard).code, ErrorCode::ok);
  ASSERT_TRUE(cluster[1].send({.to = Rank{0}, .tag = Tag{2}}, data).has_value()); // lies in the ring when it leaves
  const Request from_it = *cluster[0].receive({.source = Rank{1}, .tag = Tag{3}}, late, {});
  const Request from_anyone = *cluster[0].receive({.tag = Tag{3}}, late, {});
  const Request to_it =
      *cluster[0].send({.to = Rank{1}, .tag = Tag{3}, .mode = SendMode::synchronous}, ConstLayout(data));
  cluster[0].peer_left(1);
  EXPECT_EQ(finish(cluster, 0, from_it).code, ErrorCode::peer_left);
  EXPECT_EQ(finish(cluster, 0, to_it).code, ErrorCode::peer_left);
  EXPECT_FALSE(cluster[0].ended(from_anyone));
  std::array<Event, 4> events;
  cluster[0].peer_left(1); // told once
  ASSERT_EQ(cluster[0].take_events(events), 1U);
  EXPECT_EQ(events[0].kind, Event::Kind::peer_left);
  EXPECT_EQ(events[0].completion.peer, Rank{1});
  const Request last_word = *cluster[0].receive({.source = Rank{1}, .tag = Tag{2}}, early, {});
  EXPECT_EQ(finish(cluster, 0, last_word).code, ErrorCode::ok);
  const auto refused = cluster[0].send({.to = Rank{1}}, ConstLayout());
  EXPECT_EQ(refused.error().code, ErrorCode::peer_left);
  EXPECT_EQ(refused.error().fact, "rank 1 has left the job");
  ASSERT_TRUE(cluster[2].send({.to = Rank{0}, .tag = Tag{3}}, data).has_value());
  EXPECT_EQ(finish(cluster, 0, from_anyone).code, ErrorCode::ok);
}

TEST(Engine, WithdrawsWhatItExposed) {
  for (const bool copies : {true, false}) {
    engine::Limits limits = usual_limits();
    limits.chunk_bytes = 4096;
    Cluster cluster(2, limits, {.processor_copies = copies});
    const auto data = pattern(1U << 20U, 3);
    std::vector<std::byte> into(data.size());
    for (int i = 0; i < 10; ++i) {
      const Request sent = *cluster[0].send({.to = Rank{1}, .tag = Tag{1}}, data);
      const Request received = *cluster[1].receive({.source = Rank{0}, .tag = Tag{1}}, into, {});
      EXPECT_EQ(finish(cluster, 1, received).code, ErrorCode::ok);
      EXPECT_EQ(finish(cluster, 0, sent).code, ErrorCode::ok);
      EXPECT_EQ(into, data);
      std::fill(into.begin(), into.end(), std::byte{0});
    }
    cluster.settle();
    EXPECT_EQ(cluster.node(0).translator->exposed(), 0);
    EXPECT_EQ(cluster.node(1).translator->exposed(), 0);
  }
}

// For the sanitizer to see.
TEST(Engine, FreesMessagesThatNobodyReceivedOrReleased) {
  Cluster cluster(2, usual_limits());
  const auto small = pattern(100, 1);
  const auto large = pattern(100'000, 2);
  for (const auto* data : {&small, &large}) {
    static_cast<void>(cluster[0].send({.to = Rank{1}, .tag = Tag{1}}, *data));
    static_cast<void>(cluster[0].send({.to = Rank{1}, .tag = Tag{2}}, *data));
    static_cast<void>(cluster[0].send_unsolicited({.to = Rank{1}, .tag = Tag{3}}, *data));
  }
  cluster.settle();
  EXPECT_TRUE(*cluster[1].matched_probe({.tag = Tag{1}}));
  EXPECT_GT(cluster.node(1).figure("bytes of unexpected messages"), 0U);
}

TEST(Engine, RefusesAStaleRequest) {
  Cluster cluster(1, usual_limits());
  const Request received = *cluster[0].receive({}, Layout(), {});
  EXPECT_TRUE(cluster[0].cancel(received));
  EXPECT_EQ(cluster[0].take_completion(received)->code, ErrorCode::cancelled);
  EXPECT_EQ(cluster[0].take_completion(received)->code, ErrorCode::stale_request);
  EXPECT_FALSE(cluster[0].cancel(received));
  EXPECT_EQ(cluster[0].take_completion(Request{})->code, ErrorCode::stale_request);
}

TEST(Engine, SaysWhatIsWrongWithACall) {
  Cluster cluster(2, usual_limits());
  EXPECT_EQ(cluster[0].send({.to = Rank{2}}, ConstLayout()).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(cluster[0].send_unsolicited({.to = Rank{7}}, ConstLayout()).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(cluster[0].receive({.source = Rank{2}}, Layout(), {}).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(cluster[0].receive({.tag = Tag{4}, .mask = 3}, Layout(), {}).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(cluster[0].probe({.tag = Tag{4}, .mask = 3}).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(cluster[0].receive_matched({}, Layout(), {}).error().code, ErrorCode::bad_argument);
  const std::array nothing{ConstPiece{nullptr, 1}};
  for (const ConstLayout& wrong :
       {ConstLayout(nullptr, 8), ConstLayout::strided(&cluster, ~0ULL, 3, 8), ConstLayout::strided(nullptr, 2, 3, 8),
        ConstLayout::pieces(nothing), ConstLayout(&cluster, ~0ULL)}) {
    EXPECT_EQ(cluster[0].send({.to = Rank{1}}, wrong).error().code, ErrorCode::bad_argument);
    EXPECT_EQ(cluster[0].send_unsolicited({.to = Rank{1}}, wrong).error().code, ErrorCode::bad_argument);
  }
  EXPECT_EQ(cluster[0].receive({.source = Rank{1}}, Layout(nullptr, 8), {}).error().code, ErrorCode::bad_argument);
  cluster[0].peer_failed(1);
  EXPECT_EQ(cluster[0].send({.to = Rank{1}}, ConstLayout()).error().code, ErrorCode::peer_failed);
  EXPECT_EQ(cluster[0].receive({.source = Rank{1}}, Layout(), {}).error().code, ErrorCode::peer_failed);
  EXPECT_EQ(cluster.node(0).figure("operations under way"), 0U);
}

} // namespace
} // namespace heddle::tests
