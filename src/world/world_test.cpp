#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

class EveryFabric : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, EveryFabric,
                         testing::Values("infiniband:2-ary-2-tree", "infiniband:2-ary-2-tree,lmc=1", "tofu:1x1x1",
                                         "tofu:1x1x1,generation=d", "rhinet:star:8", "rhinet:ring:8"));

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 31 + seed) & 0xffU);
  return made;
}

// Sends to the next, receives from the one before; small and large.
Task exchange(Peer& peer, std::size_t bytes) {
  const auto out = pattern(bytes, std::to_underlying(peer.rank()));
  std::vector<std::byte> in(bytes);
  const std::uint32_t next = (std::to_underlying(peer.rank()) + 1) % peer.size();
  const std::uint32_t before = (std::to_underlying(peer.rank()) + peer.size() - 1) % peer.size();
  const std::array requests = {*peer.context().receive({.source = Rank{before}, .tag = Tag{7}}, Layout(in)),
                               *peer.context().send(Rank{next}, Tag{7}, ConstLayout(out))};
  if (co_await peer.wait_all(requests) != ErrorCode::ok) throw std::runtime_error("failed");
  if (in != pattern(bytes, before)) throw std::runtime_error("wrong data");
}

Result<Outcome> run(const char* fabric, const Program& program, std::uint32_t peers = 8) {
  auto world = World::create({.fabric = fabric, .peers = peers});
  if (!world) return std::unexpected(world.error());
  return world->run(program);
}

TEST_P(EveryFabric, CarriesMessagesOfAllSizesInARing) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{1000}, std::size_t{50'000}, std::size_t{1'000'000}}) {
    const auto outcome = run(GetParam(), [bytes](Peer& peer) { return exchange(peer, bytes); });
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->errors, std::vector<std::string>{}) << bytes;
    EXPECT_GT(outcome->time.count(), 0);
  }
}

// The whole way that a schedule makes a job take; 0 where something went wrong.
std::int64_t time_with(const char* schedule, const char* fabric, const Program& program) {
  auto world = World::create({.fabric = fabric, .peers = 12, .options = {.schedule = schedule}});
  if (!world) return 0;
  const auto outcome = world->run(program);
  return outcome && outcome->errors.empty() ? outcome->time.count() : 0;
}

TEST(SeveralEngines, AreSharedByLargeMessages) {
  const auto ring = [](Peer& peer) { return exchange(peer, 1'000'000); };
  const std::int64_t planned = time_with("planned", "tofu:1x1x1", ring);
  EXPECT_GT(planned, 0);
  EXPECT_LT(planned * 10, time_with("immediate", "tofu:1x1x1", ring) * 9);
  // Of one engine there is nothing to plan.
  EXPECT_EQ(time_with("planned", "infiniband:3-ary-2-tree", ring),
            time_with("immediate", "infiniband:3-ary-2-tree", ring));
}

TEST(SeveralEngines, AreSharedByTheStepsOfAnAllToAll) {
  constexpr std::size_t kBlock = 100'000;
  const auto all_to_all = [](Peer& peer) -> Task {
    const std::uint32_t own = std::to_underlying(peer.rank());
    const auto out = pattern(kBlock * peer.size(), own);
    std::vector<std::byte> in(out.size());
    for (int round = 0; round < 4; ++round) { // the first makes the connections, one after the other
      const auto started = peer.context().start_alltoall(out, in);
      if (!started || (co_await peer.wait(*started)).code != ErrorCode::ok) throw std::runtime_error("failed");
    }
    for (std::uint32_t from = 0; from < peer.size(); ++from) {
      const auto theirs = pattern(kBlock * peer.size(), from);
      if (std::memcmp(in.data() + from * kBlock, theirs.data() + own * kBlock, kBlock) != 0)
        throw std::runtime_error("wrong data");
    }
  };
  const std::int64_t planned = time_with("planned", "tofu:1x1x1", all_to_all);
  EXPECT_GT(planned, 0);
  EXPECT_LT(planned * 10, time_with("immediate", "tofu:1x1x1", all_to_all) * 9);
}

// The first of two messages is alone for a moment. Did it take that for more, its second chunk would be in the way of the other message.
TEST(SeveralEngines, AreLeftToMessagesThatAreToCome) {
  const auto from_two_neighbours = [](std::uint64_t chunk) {
    auto world = World::create({.fabric = "tofu:1x1x1", .peers = 3, .options = {.chunk_bytes = chunk}});
    EXPECT_TRUE(world);
    const auto outcome = world->run([](Peer& peer) -> Task {
      std::vector<std::byte> first(220'000);
      std::vector<std::byte> second(first.size());
      for (int round = 0; round < 6; ++round) {
        std::vector<Request> requests;
        if (peer.rank() == Rank{0}) {
          requests.push_back(*peer.context().receive({.source = Rank{1}, .tag = Tag{1}}, first));
          requests.push_back(*peer.context().receive({.source = Rank{2}, .tag = Tag{1}}, second));
        } else {
          requests.push_back(*peer.context().send(Rank{0}, Tag{1}, first));
        }
        if (co_await peer.wait_all(requests) != ErrorCode::ok) throw std::runtime_error("failed");
        co_await peer.barrier();
      }
    });
    EXPECT_TRUE(outcome && outcome->errors.empty());
    return outcome ? outcome->time.count() : 0;
  };
  EXPECT_LT(from_two_neighbours(128 << 10) * 100, from_two_neighbours(1 << 20) * 105);
}

TEST(SeveralEngines, AreNamedByWhy) {
  for (const char* schedule : {"planned", "immediate"}) {
    auto world = World::create({.fabric = "tofu:1x1x1", .peers = 2, .options = {.schedule = schedule}});
    ASSERT_TRUE(world);
    const bool planned = std::string_view(schedule) == "planned";
    const auto outcome = world->run([planned](Peer& peer) -> Task {
      const auto why = peer.context().why(Rank{1 - std::to_underlying(peer.rank())}, 1'000'000);
      const bool named = why && why->reason.find("engines: 4") != std::string::npos;
      if (named != planned) throw std::runtime_error("why says otherwise");
      co_return;
    });
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->errors, std::vector<std::string>{}) << schedule;
  }
}

TEST_P(EveryFabric, IsTheSameTwiceToThePicosecond) {
  const auto program = [](Peer& peer) { return exchange(peer, 100'000); };
  const auto first = run(GetParam(), program);
  const auto second = run(GetParam(), program);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->time, second->time);
  EXPECT_EQ(first->history, second->history);
}

TEST_P(EveryFabric, PassesBarriersTogether) {
  std::vector<int> passed(8, 0);
  const auto outcome = run(GetParam(), [&passed](Peer& peer) -> Task {
    for (int round = 1; round <= 3; ++round) {
      co_await peer.sleep(std::chrono::microseconds(std::to_underlying(peer.rank()) * 10));
      passed[std::to_underlying(peer.rank())] = round;
      if ((co_await peer.barrier()).code != ErrorCode::ok) throw std::runtime_error("barrier");
      for (const int other : passed)
        if (other < round) throw std::runtime_error("passed too early");
    }
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST_P(EveryFabric, TellsSurvivorsOfADeath) {
  auto world = World::create(
      {.fabric = GetParam(), .peers = 4, .deaths = {{.rank = Rank{2}, .at = std::chrono::microseconds(50)}}});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) -> Task {
    std::array<std::byte, 8> data{};
    if (peer.rank() == Rank{2}) co_await peer.sleep(std::chrono::seconds(1));
    const auto receive = peer.context().receive({.source = Rank{2}}, Layout(data));
    if (!receive) throw std::runtime_error(receive.error().message());
    if ((co_await peer.wait(*receive)).code != ErrorCode::peer_failed)
      throw std::runtime_error("received from the dead");
    std::array<Event, 4> events;
    if (co_await peer.wait_events(events) != 1 || events[0].kind != Event::Kind::peer_failed)
      throw std::runtime_error("not told");
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST_P(EveryFabric, TellsOfOneThatLeavesAfterAllThatItSent) {
  constexpr int kMessages = 50;
  auto world = World::create({.fabric = GetParam(), .peers = 3});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) -> Task {
    std::vector<std::byte> data(300);
    if (peer.rank() == Rank{1}) {
      std::vector<Request> requests;
      for (int i = 0; i < kMessages; ++i) requests.push_back(*peer.context().send(Rank{0}, Tag{1}, Layout(data)));
      co_await peer.wait_all(requests);
      peer.leave();
      co_return;
    }
    for (int i = 0; peer.rank() == Rank{0} && i < kMessages; ++i) {
      const auto ended = co_await peer.wait(*peer.context().receive({.source = Rank{1}, .tag = Tag{1}}, Layout(data)));
      if (ended.code != ErrorCode::ok) throw std::runtime_error("a message of one that left is lost");
    }
    const auto more = peer.context().receive({.source = Rank{1}, .tag = Tag{1}}, Layout(data));
    if (!more) throw std::runtime_error(more.error().message());
    const auto ended = co_await peer.wait(*more);
    if (ended.code != ErrorCode::peer_left) throw std::runtime_error("received from one that left");
    std::array<Event, 4> events;
    const std::size_t told = co_await peer.wait_events(events);
    if (told != 1 || events[0].kind != Event::Kind::peer_left) throw std::runtime_error("not told");
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

// In virtual time: what is late is so to the picosecond, and what was waited for goes on.
TEST_P(EveryFabric, EndsWaitsWhenTheirTimeIsOver) {
  auto world = World::create({.fabric = GetParam(), .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) -> Task {
    const auto must = [](bool good, const char* what) {
      if (!good) throw std::runtime_error(what);
    };
    constexpr Time kShort = std::chrono::microseconds(3);
    constexpr Time kLong = std::chrono::milliseconds(50);
    std::array<std::uint64_t, 3> words{};
    if (peer.rank() == Rank{1}) {
      co_await peer.sleep(std::chrono::milliseconds(1));
      std::vector<Request> sends;
      for (const std::uint64_t tag : {1U, 0U, 2U})
        sends.push_back(peer.context().send(Rank{0}, Tag{tag}, words[tag]).value());
      std::array<Completion, 3> completions;
      const ErrorCode code = co_await peer.wait_all(sends, completions);
      must(code == ErrorCode::ok && completions[0].tag == Tag{1}, "the sends failed");
      co_return;
    }
    std::vector<Request> requests;
    for (const std::uint64_t tag : {0U, 1U, 2U})
      requests.push_back(peer.context().receive({.source = Rank{1}, .tag = Tag{tag}}, words[tag]).value());
    const Time begin = peer.now();
    const Completion late = co_await peer.wait(requests[0], kShort);
    must(late.code == ErrorCode::timed_out && peer.now() - begin == kShort, "a wait did not end in time");
    const ErrorCode all = co_await peer.wait_all(requests, kShort);
    must(all == ErrorCode::timed_out && peer.now() - begin == 2 * kShort, "a wait for all did not end in time");
    const IndexedCompletion none = co_await peer.wait_any(requests, kShort);
    must(none.index == 3 && none.completion.code == ErrorCode::timed_out, "a wait for any did not end in time");
    std::array<Event, 1> events;
    const std::size_t told = co_await peer.wait_events(events, kShort);
    must(told == 0 && peer.now() - begin == 4 * kShort, "a wait for events did not end in time");
    const std::uint64_t word = co_await peer.wait_change(words[0], 0, kShort);
    must(word == 0 && peer.now() - begin == 5 * kShort, "a wait for a word did not end in time");
    const IndexedCompletion first = co_await peer.wait_any(requests, kLong);
    must(first.index < 3 && first.completion.code == ErrorCode::ok, "nothing came");
    requests[first.index] = {};
    const IndexedCompletion second = co_await peer.wait_any(requests);
    must(second.index < 3 && second.index != first.index, "nothing more came");
    const Completion last = co_await peer.wait(requests[3 - first.index - second.index], kLong);
    must(last.code == ErrorCode::ok && peer.now() - begin < kLong, "the last never came");
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST_P(EveryFabric, KnowsTheHostOfEveryProcess) {
  auto world = World::create({.fabric = GetParam(), .peers = 5, .peers_per_node = 2, .nodes = {1, 0, 3}});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) -> Task {
    const std::array<std::string_view, 5> hosts{"node1", "node1", "node0", "node0", "node3"};
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
      if (peer.context().host_name(Rank{rank}).value() != hosts[rank]) throw std::runtime_error("another host");
      if (peer.context().local_rank(Rank{rank}).value() != rank % 2) throw std::runtime_error("another place");
    }
    if (peer.context().host_name(Rank{5})) throw std::runtime_error("a host of nobody");
    co_return;
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST_P(EveryFabric, ServesNobodyWhileItComputes) {
  static constexpr Time kComputes = std::chrono::milliseconds(20);
  std::array<Time, 2> matched{};
  auto world = World::create({.fabric = GetParam(), .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([&matched](Peer& peer) -> Task {
    std::array<std::byte, 8> data{};
    for (int round = 0; round < 2; ++round) {
      if (peer.rank() == Rank{0}) {
        const Time before = peer.now();
        co_await peer.wait(*peer.context().send(Rank{1}, Tag{1}, Layout(data), SendMode::synchronous));
        matched[static_cast<std::size_t>(round)] = peer.now() - before;
      } else {
        const Request request = *peer.context().receive({.source = Rank{0}, .tag = Tag{1}}, Layout(data));
        if (round == 0)
          co_await peer.sleep(kComputes);
        else
          co_await peer.compute(kComputes);
        co_await peer.wait(request);
      }
      co_await peer.barrier();
    }
  });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_LT(matched[0], kComputes / 2);
  EXPECT_GE(matched[1], kComputes);
}

TEST(World, NamesWhatProcessesWaitForInVain) {
  const auto outcome = run(
      "tofu:1x1x1",
      [](Peer& peer) -> Task {
        std::array<std::byte, 8> data{};
        co_await peer.wait(*peer.context().receive({.source = Rank{0}, .tag = Tag{5}}, Layout(data)));
      },
      2);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message().find("2 processes wait for something that will never happen"), std::string::npos)
      << outcome.error().message();
  EXPECT_NE(outcome.error().message().find("tag 0x5"), std::string::npos);
}

TEST(World, DoesNotBlock) {
  const auto outcome = run(
      "tofu:1x1x1",
      [](Peer& peer) -> Task {
        std::array<std::byte, 8> data{};
        const Request request = *peer.context().receive({.source = Rank{0}, .tag = Tag{5}}, Layout(data));
        if (peer.context().wait(request).code != ErrorCode::would_block) throw std::runtime_error("blocked");
        if (peer.context().wait(request, std::chrono::seconds(1)).code != ErrorCode::timed_out)
          throw std::runtime_error("waited");
        if (!peer.context().cancel(request)) throw std::runtime_error("gone");
        if ((co_await peer.wait(request)).code != ErrorCode::cancelled) throw std::runtime_error("not cancelled");
      },
      2);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

std::string refusal_of(const Setup& setup) {
  const auto world = World::create(setup);
  return world ? "made" : world.error().fact;
}

TEST(World, RefusesFaultsThatAreNoChances) {
  for (const double chance : {5.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1.5}) {
    simulation::Setup setup{.fabric = "tofu:1x1x1"};
    for (double* each : {&setup.faults.delay_command, &setup.faults.delay_event, &setup.faults.reorder_events}) {
      setup.faults = {.seed = 1};
      *each = chance;
      EXPECT_TRUE(refusal_of(setup).ends_with(": expected 0 to 1")) << refusal_of(setup);
    }
  }
  EXPECT_EQ(refusal_of({.fabric = "tofu:1x1x1", .faults = {.seed = 1, .short_count = 1}}),
            "the chance faults.short_count cannot be 1.000000: expected 0 to 0.99");
  EXPECT_EQ(refusal_of({.fabric = "tofu:1x1x1",
                        .faults = {.seed = 1, .short_count = 0.9, .delay_command = 1, .reorder_events = 1}}),
            "made");
}

TEST(World, EndsWithTheLargestFaultsThatItTakes) {
  auto world = World::create(
      {.fabric = "tofu:1x1x1",
       .peers = 3,
       .faults = {.seed = 1, .short_count = 0.99, .delay_command = 1, .delay_event = 1, .reorder_events = 1}});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) { return exchange(peer, 20'000); });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST(World, RefusesMoreProcessesThanThereIsMemoryForBeforeItTakesAny) {
  const std::string fact = refusal_of({.fabric = "tofu:1x1x1", .peers_per_node = 0xffff'ffffU});
  EXPECT_TRUE(fact.starts_with("51539607540 peers need at least ")) << fact;
  EXPECT_TRUE(
      refusal_of({.fabric = "infiniband:36-ary-2-tree", .peers_per_node = 1000}).starts_with("2592000 peers need"));
}

TEST(World, EndsWhereACutCableLetsNothingPassForGood) {
  for (const double chance : {0.0, 0.5}) {
    auto world = World::create({.fabric = "rhinet:star:3",
                                .cables = {{.cable = 1, .at = Time(0), .plugged = false}},
                                .faults = {.seed = 1,
                                           .short_count = chance,
                                           .delay_command = chance,
                                           .delay_event = chance,
                                           .reorder_events = chance}});
    ASSERT_TRUE(world) << world.error().message();
    const auto outcome = world->run([](Peer& peer) { return exchange(peer, 40); });
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().fact.find("wait for something that will never happen"), std::string::npos)
        << outcome.error().fact;
  }
}

TEST(World, WaitsForACableThatIsPluggedLateWithoutALookAtEachMoment) {
  auto world = World::create({.fabric = "rhinet:ring:4",
                              .cables = {{.cable = 0, .at = std::chrono::hours(900), .plugged = true}},
                              .faults = {.seed = 2}});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) { return exchange(peer, 40); });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST(World, RefusesATofuWithoutAClassForAnswers) {
  EXPECT_EQ(refusal_of({.fabric = "tofu:1x1x1,classes=1"}),
            "tofu:1x1x1,classes=1 has one class of traffic: the library's answers need another than its requests");
}

TEST(World, RefusesTimesBeforeTheBeginning) {
  EXPECT_EQ(refusal_of({.fabric = "tofu:1x1x1", .deaths = {{.rank = Rank{1}, .at = Time(-1)}}}),
            "rank 1 dies at -1 ps: expected a time from 0 on");
  EXPECT_EQ(refusal_of({.fabric = "rhinet:ring:4", .cables = {{.cable = 1, .at = Time(-5), .plugged = false}}}),
            "cable 1 changes at -5 ps: expected a time from 0 on");
}

TEST(World, RunsOnce) {
  auto world = World::create({.fabric = "tofu:1x1x1", .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  EXPECT_FALSE(world->run({}));
  const auto program = [](Peer& peer) { return exchange(peer, 100); };
  ASSERT_TRUE(world->run(program));
  const auto again = world->run(program);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().fact, "the world is run a second time");
}

TEST(World, SleepsForAnyTime) {
  const auto outcome = run(
      "tofu:1x1x1",
      [](Peer& peer) -> Task {
        co_await peer.sleep(std::chrono::microseconds(3));
        const Time before = peer.now();
        co_await peer.sleep(Time(-1'000'000));
        if (peer.now() != before) throw std::runtime_error("went back");
        co_await peer.sleep(Time::max());
      },
      2);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
  EXPECT_EQ(outcome->time, Time::max());
}

TEST(World, RefusesATopologyWithoutAnEnd) {
  EXPECT_EQ(refusal_of({.fabric = "rhinet:/dev/zero"}), "topology '/dev/zero' is not a regular file");
}

TEST(World, RefusesWhatCannotBe) {
  EXPECT_FALSE(World::create({.fabric = "ethernet:4"}));
  EXPECT_FALSE(World::create({.fabric = "tofu:1x1x1", .peers = 13}));
  EXPECT_FALSE(World::create({.fabric = "tofu:1x1x1", .peers_per_node = 0}));
  EXPECT_FALSE(World::create({.fabric = "tofu:1x1x1", .deaths = {{.rank = Rank{99}}}}));
  EXPECT_TRUE(World::create({.fabric = "tofu:1x1x1", .peers = 24, .peers_per_node = 2}));
}

} // namespace
} // namespace heddle::simulation
