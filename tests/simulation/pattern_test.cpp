// Patterns on every simulated network: data in place round after round, errors that name the fault, a death that ends a start.
#include "tests/traffic/halo.hpp"

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

using tests::halo_block;
using tests::halo_content;
using tests::HaloMemory;

constexpr const char* kFabrics[] = {"infiniband:2-ary-2-tree", "infiniband:2-ary-2-tree,lmc=1", "tofu:1x1x1",
                                    "tofu:1x1x1,generation=d", "rhinet:star:8"};
class PatternOn : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, PatternOn, testing::ValuesIn(kFabrics));

void check(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}
template <typename T>
T check(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

void expect_no_errors(const Result<Outcome>& outcome) {
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

Task compile(Peer& peer, Pattern& pattern) {
  const Request compiling = check(pattern.start_compile());
  const Completion compiled = co_await peer.wait(compiling);
  check(compiled.code == ErrorCode::ok, pattern.error() ? pattern.error()->message() : "compile");
}
Task start(Peer& peer, Pattern& pattern, ErrorCode expected) {
  const Request starting = check(pattern.start());
  const Completion ended = co_await peer.wait(starting);
  check(ended.code == expected, "a start ended with " + std::string(to_string(ended.code)));
}

// All eight neighbours on a grid of 2 x 4, several rounds, each with new content.
Task halo(Peer& peer, bool periodic, bool barriers, std::size_t bytes, bool strided = false) {
  const Grid grid{.size = {2, 4}, .periodic = {periodic, periodic}, .ranks = {}};
  HaloMemory memory(bytes, strided);
  Pattern pattern = check(Pattern::neighbour_alltoall(peer.context(), grid, memory.exchanges, {.barriers = barriers}));
  const Request compiling = check(pattern.start_compile());
  const Completion compiled = co_await peer.wait(compiling);
  check(compiled.code == ErrorCode::ok, pattern.error() ? pattern.error()->message() : "compile");
  for (std::uint64_t round = 0; round < 5; ++round) {
    memory.fill(std::to_underlying(peer.rank()), round);
    const Request starting = check(pattern.start());
    const Completion ended = co_await peer.wait(starting);
    check(ended.code == ErrorCode::ok, "start");
    const auto own_row = static_cast<int>(std::to_underlying(peer.rank()) / 4);
    const auto own_column = static_cast<int>(std::to_underlying(peer.rank()) % 4);
    for (std::size_t i = 0; i < memory.in.size(); ++i) {
      const int row = own_row + memory.exchanges[i].offset[0];
      const int column = own_column + memory.exchanges[i].offset[1];
      if (!periodic && (row < 0 || row > 1 || column < 0 || column > 3)) continue;
      const auto from = static_cast<std::uint32_t>((row + 2) % 2 * 4 + (column + 4) % 4);
      // The neighbour's exchange with this process is the opposite one.
      check(memory.received(i) == halo_block(from, memory.in.size() - 1 - i, round, bytes), "wrong data");
    }
  }
  check(pattern.free());
}

TEST_P(PatternOn, ExchangesHalosRoundAfterRound) {
  for (const bool periodic : {true, false})
    for (const bool barriers : {true, false})
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{40'000}}) {
        auto world = World::create({.fabric = GetParam(), .peers = 8});
        ASSERT_TRUE(world) << world.error().message();
        expect_no_errors(world->run([&](Peer& peer) { return halo(peer, periodic, barriers, bytes); }));
      }
}

TEST_P(PatternOn, ReceivesHalosIntoStridedMemory) {
  for (const bool barriers : {true, false})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{40'000}}) {
      auto world = World::create({.fabric = GetParam(), .peers = 8});
      ASSERT_TRUE(world) << world.error().message();
      expect_no_errors(world->run([&](Peer& peer) { return halo(peer, true, barriers, bytes, true); }));
    }
}

TEST_P(PatternOn, SurvivesBackPressureAndDelays) {
  auto world = World::create({.fabric = GetParam(),
                              .peers = 8,
                              .faults = {.seed = 7, .short_count = 0.3, .delay_command = 0.3, .delay_event = 0.3}});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) { return halo(peer, true, false, 3000); }));
}

TEST_P(PatternOn, CarriesLayoutsInPieces) {
  auto world = World::create({.fabric = GetParam(), .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) -> Task {
    std::vector<std::byte> out(4000);
    std::vector<std::byte> in(4000);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = halo_content(std::to_underlying(peer.rank()), 0, 0, i);
    Pattern pattern = check(Pattern::create(peer.context()));
    const Rank other{1 - std::to_underlying(peer.rank())};
    check(pattern.send(other, Tag{1}, ConstLayout::strided(out.data(), 100, 20, 40)));
    check(pattern.receive(other, Tag{1}, Layout::strided(in.data(), 50, 40, 80)));
    co_await compile(peer, pattern);
    const Request starting = check(pattern.start());
    const Completion ended = co_await peer.wait(starting);
    check(ended.code == ErrorCode::ok, "start");
    for (std::size_t i = 0; i < 2000; ++i)
      check(in[i / 40 * 80 + i % 40] == halo_content(1 - std::to_underlying(peer.rank()), 0, 0, i / 20 * 40 + i % 20),
            "wrong data");
  }));
}

TEST_P(PatternOn, EndsAStartWhenAPeerDiesAndSaysWhatIsMissing) {
  auto world = World::create(
      {.fabric = GetParam(), .peers = 4, .deaths = {{.rank = Rank{3}, .at = std::chrono::milliseconds(50)}}});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) -> Task {
    std::vector<std::byte> out(100);
    std::vector<std::vector<std::byte>> in(4, std::vector<std::byte>(100));
    Pattern pattern = check(Pattern::create(peer.context()));
    std::vector<Pattern::Item> with_dead;
    for (std::uint32_t other = 0; other < 4; ++other) {
      if (other == std::to_underlying(peer.rank())) continue;
      const auto sent = check(pattern.send(Rank{other}, Tag{1}, ConstLayout(out)));
      const auto received = check(pattern.receive(Rank{other}, Tag{1}, Layout(in[other])));
      if (other == 3) with_dead = {sent, received};
    }
    co_await compile(peer, pattern);
    co_await start(peer, pattern, ErrorCode::ok);
    if (peer.rank() == Rank{3}) co_await peer.sleep(std::chrono::seconds(1));
    // The second start waits for the one that never comes.
    co_await start(peer, pattern, ErrorCode::peer_failed);
    const auto incomplete = pattern.incomplete();
    check(std::ranges::find(incomplete, with_dead[1]) != incomplete.end(), "the receive counts as complete");
    for (const auto item : incomplete)
      check(std::ranges::find(with_dead, item) != with_dead.end(), "one with the living counts as incomplete");
    check(!pattern.start(), "it starts again");
  }));
}

// With barriers nothing moves before all are there: where one never comes, all that the others have given stays where it is, also
// what a process gives to itself, and all of it is said to be missing.
TEST_P(PatternOn, MovesNothingWhenItsFirstBarrierFails) {
  auto world = World::create(
      {.fabric = GetParam(), .peers = 3, .deaths = {{.rank = Rank{2}, .at = std::chrono::milliseconds(50)}}});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) -> Task {
    std::vector<std::byte> out(100, std::byte{1});
    std::vector<std::byte> exposed(300);
    std::vector<std::byte> received(100);
    Pattern pattern = check(Pattern::create(peer.context(), {.barriers = true}));
    std::vector<Pattern::Item> all;
    for (std::uint32_t to = 0; to < 3; ++to)
      all.push_back(check(pattern.put(Rank{to}, Tag{1}, std::to_underlying(peer.rank()) * 100, ConstLayout(out))));
    all.push_back(check(pattern.send(peer.rank(), Tag{2}, ConstLayout(out))));
    all.push_back(check(pattern.receive(peer.rank(), Tag{2}, Layout(received))));
    check(pattern.expose(Tag{1}, Layout(exposed)));
    co_await compile(peer, pattern);
    const Request first = check(pattern.start());
    const Completion first_ended = co_await peer.wait(first);
    check(first_ended.code == ErrorCode::ok && pattern.incomplete().empty(), "first start");
    check(exposed == std::vector(300, std::byte{1}) && received == out, "the first start has moved too little");
    std::ranges::fill(out, std::byte{2});
    if (peer.rank() == Rank{2}) co_await peer.sleep(std::chrono::seconds(1));
    co_await start(peer, pattern, ErrorCode::peer_failed);
    check(pattern.incomplete() == all, "what did not move counts as complete");
    co_await peer.sleep(std::chrono::milliseconds(10)); // whatever is under way would arrive
    check(exposed == std::vector(300, std::byte{1}), "a put has moved");
    check(received == std::vector(100, std::byte{1}), "what it sends to itself has moved");
  }));
}

TEST_P(PatternOn, IsNotCompiledWithTheDead) {
  for (const std::uint32_t dead : {0U, 3U}) {
    auto world = World::create(
        {.fabric = GetParam(), .peers = 4, .deaths = {{.rank = Rank{dead}, .at = std::chrono::milliseconds(10)}}});
    ASSERT_TRUE(world) << world.error().message();
    expect_no_errors(world->run([](Peer& peer) -> Task {
      std::vector<std::byte> out(100);
      std::vector<std::byte> in(100);
      co_await peer.barrier();
      co_await peer.sleep(std::chrono::milliseconds(200)); // all have heard of it
      Pattern pattern = check(Pattern::create(peer.context()));
      if (peer.rank() == Rank{1}) check(pattern.send(Rank{2}, Tag{1}, ConstLayout(out))); // the dead has no part in it
      if (peer.rank() == Rank{2}) check(pattern.receive(Rank{1}, Tag{1}, Layout(in)));
      const Request compiling = check(pattern.start_compile());
      const Completion compiled = co_await peer.wait(compiling);
      check(compiled.code == ErrorCode::peer_failed, "compile ended with " + std::string(to_string(compiled.code)));
      check(pattern.error() && pattern.error()->code == ErrorCode::peer_failed, "the error is another");
      check(!pattern.start(), "it starts");
    }));
  }
}

// A ring of six that is compiled and started until something fails. Memory goes when the program does: what is still under way then
// must not land in it.
Task ring_until_failure(Peer& peer, bool barriers, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  Pattern pattern = check(Pattern::create(peer.context(), {.barriers = barriers}));
  const Rank right{(std::to_underlying(peer.rank()) + 1) % peer.size()};
  const Rank left{(std::to_underlying(peer.rank()) + peer.size() - 1) % peer.size()};
  if (barriers) {
    check(pattern.expose(Tag{1}, Layout(in)));
    check(pattern.put(right, Tag{1}, 0, ConstLayout(out)));
  } else {
    check(pattern.send(right, Tag{1}, ConstLayout(out)));
    check(pattern.receive(left, Tag{1}, Layout(in)));
  }
  const Request compiling = check(pattern.start_compile());
  Completion ended = co_await peer.wait(compiling);
  for (int round = 0; round < 4 && ended.code == ErrorCode::ok; ++round) {
    const auto started = pattern.start();
    if (!started) break;
    ended = co_await peer.wait(*started);
  }
  check(pattern.free());
}

// Also in the middle of compiling, when some processes know that all agree and others will never hear it: nobody waits for good.
TEST_P(PatternOn, EndsEverywhereWheneverAProcessDies) {
  const bool slow = std::string_view(GetParam()).starts_with("rhinet");
  for (const bool barriers : {false, true})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{40'000}})
      for (int us = 2; us < 100; us += 5) {
        auto world =
            World::create({.fabric = GetParam(),
                           .peers = 6,
                           .deaths = {{.rank = Rank{3}, .at = std::chrono::microseconds(slow ? 6 * us : us)}}});
        ASSERT_TRUE(world) << world.error().message();
        SCOPED_TRACE(testing::Message() << "barriers " << barriers << ", " << bytes << " bytes, " << us << " us");
        expect_no_errors(world->run([&](Peer& peer) { return ring_until_failure(peer, barriers, bytes); }));
      }
}

// With barriers all meet, so also those who have nothing to do with one that has freed the pattern hear of it.
TEST_P(PatternOn, EndsForAllWhenOneHasFreedIt) {
  auto world = World::create({.fabric = GetParam(), .peers = 4});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) -> Task {
    std::vector<std::byte> out(64);
    std::vector<std::byte> in(64);
    Pattern pattern = check(Pattern::create(peer.context(), {.barriers = true}));
    const Rank other{std::to_underlying(peer.rank()) ^ 1U}; // two pairs
    check(pattern.send(other, Tag{1}, ConstLayout(out)));
    check(pattern.receive(other, Tag{1}, Layout(in)));
    co_await compile(peer, pattern);
    co_await start(peer, pattern, ErrorCode::ok);
    if (peer.rank() != Rank{0}) {
      co_await start(peer, pattern, ErrorCode::pattern_freed);
    }
    check(pattern.free());
  }));
}

// Each sends to the right and receives from the left. Who is done may free its pattern while others have not begun.
TEST_P(PatternOn, IsWholeForTheLateWhenTheQuickHaveFreedIt) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{40'000}}) {
    auto world = World::create({.fabric = GetParam(), .peers = 4});
    ASSERT_TRUE(world) << world.error().message();
    expect_no_errors(world->run([bytes](Peer& peer) -> Task {
      std::vector<std::byte> out(bytes, static_cast<std::byte>(std::to_underlying(peer.rank())));
      std::vector<std::byte> in(bytes);
      const std::uint32_t left = (std::to_underlying(peer.rank()) + 3) % 4;
      Pattern pattern = check(Pattern::create(peer.context()));
      check(pattern.send(Rank{(std::to_underlying(peer.rank()) + 1) % 4}, Tag{1}, ConstLayout(out)));
      check(pattern.receive(Rank{left}, Tag{1}, Layout(in)));
      co_await compile(peer, pattern);
      for (int round = 0; round < 3; ++round) {
        if (peer.rank() == Rank{1}) co_await peer.sleep(std::chrono::milliseconds(20));
        const Request started = check(pattern.start());
        const Completion ended = co_await peer.wait(started);
        check(ended.code == ErrorCode::ok, "start");
        check(in == std::vector(bytes, static_cast<std::byte>(left)), "wrong data");
      }
      check(pattern.free());
    }));
  }
}

TEST(PatternErrors, AreSaidAndNothingIsSent) {
  auto world = World::create({.fabric = "tofu:1x1x1", .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([](Peer& peer) -> Task {
    std::vector<std::byte> memory(64);
    const Rank other{1 - std::to_underlying(peer.rank())};
    check(!Pattern::create(peer.context(), {.algorithm = "best"}), "unknown algorithm");
    Pattern pattern = check(Pattern::create(peer.context()));
    check(!pattern.send(Rank{2}, Tag{1}, ConstLayout(memory)), "a rank outside the job");
    check(!pattern.send(other, Tag{1}, ConstLayout(nullptr, 8)), "bytes behind a null pointer");
    check(!pattern.receive(other, Tag{1}, Layout(nullptr, 8)), "bytes behind a null pointer");
    check(!pattern.start(), "started before it is compiled");
    std::vector<std::byte> exposed(64);
    check(pattern.expose(Tag{5}, Layout(exposed)));
    check(!pattern.expose(Tag{5}, Layout(memory)), "an area exposed twice");
    check(!pattern.expose(Tag{6}, Layout(exposed)), "memory exposed twice");
    check(pattern.expose(Tag{6}, Layout(exposed.data(), 32)));
    check(pattern.send(other, Tag{1}, ConstLayout(memory)));
    check(pattern.receive(other, Tag{1}, Layout(memory)));
    co_await compile(peer, pattern);
    check(!pattern.send(other, Tag{2}, ConstLayout(memory)), "changed after compile");
    const Request first = check(pattern.start());
    if (pattern.running()) {
      check(!pattern.start(), "started twice");
      check(!pattern.free(), "freed while running");
    }
    const Completion ended = co_await peer.wait(first);
    check(ended.code == ErrorCode::ok, "start");
    check(pattern.free());
    check(!pattern.start(), "started after it was freed");
  });
  expect_no_errors(outcome);
}

// The outcome is told once: where an event brings it, wait has none.
TEST(PatternErrors, WaitHasNothingToSayOfAStartWithAnEvent) {
  auto world = World::create({.fabric = "tofu:1x1x1", .peers = 2});
  ASSERT_TRUE(world) << world.error().message();
  expect_no_errors(world->run([](Peer& peer) -> Task {
    std::vector<std::byte> out(64);
    std::vector<std::byte> in(64);
    Pattern pattern = check(Pattern::create(peer.context()));
    check(pattern.send(Rank{1 - std::to_underlying(peer.rank())}, Tag{1}, ConstLayout(out)));
    check(pattern.receive(Rank{1 - std::to_underlying(peer.rank())}, Tag{1}, Layout(in)));
    const auto code_of_wait = [&pattern] {
      const auto waited = pattern.wait();
      return waited ? ErrorCode::ok : waited.error().code;
    };
    co_await compile(peer, pattern);
    check(pattern.start(Notify::event(7)));
    std::array<Event, 2> events;
    const std::size_t count = co_await peer.wait_events(events);
    check(count == 1 && events[0].kind == Event::Kind::pattern_ended && events[0].cookie == 7, "no event");
    check(events[0].completion.code == ErrorCode::ok, "start");
    check(code_of_wait() == ErrorCode::stale_request, "wait after the event");
    const Request again = check(pattern.start());
    const Completion ended = co_await peer.wait(again);
    check(ended.code == ErrorCode::ok, "second start");
    check(code_of_wait() == ErrorCode::stale_request, "wait after the completion was taken");
    co_await peer.barrier();
  }));
}

// What one process declares wrongly fails everywhere, with the reason where it is known.
TEST(PatternErrors, FailEverywhereWhenAPartDoesNotFit) {
  struct Case {
    const char* expected;
    std::function<void(Pattern&, std::vector<std::byte>&)> declare; // at rank 0, towards rank 1
  };
  const Case cases[] = {
      {"exposes no memory as area 9", [](auto& p, auto& m) { check(p.put(Rank{1}, Tag{9}, 0, ConstLayout(m))); }},
      {"ends beyond area 5", [](auto& p, auto& m) { check(p.put(Rank{1}, Tag{5}, 1, ConstLayout(m))); }},
      {"has no receive for the send of tag 3",
       [](auto& p, auto& m) { check(p.send(Rank{1}, Tag{3}, ConstLayout(m))); }},
      {"sends nothing for the receive of tag 4",
       [](auto& p, auto& m) { check(p.receive(Rank{1}, Tag{4}, Layout(m))); }},
  };
  for (const Case& each : cases) {
    auto world = World::create({.fabric = "tofu:1x1x1", .peers = 3});
    ASSERT_TRUE(world) << world.error().message();
    expect_no_errors(world->run([&each](Peer& peer) -> Task {
      std::vector<std::byte> memory(64);
      Pattern pattern = check(Pattern::create(peer.context()));
      if (peer.rank() == Rank{0}) each.declare(pattern, memory);
      if (peer.rank() == Rank{1}) check(pattern.expose(Tag{5}, Layout(memory)));
      const Request compiling = check(pattern.start_compile());
      const Completion compiled = co_await peer.wait(compiling);
      check(compiled.code == ErrorCode::bad_argument, "it compiles");
      if (peer.rank() == Rank{0})
        check(pattern.error()->message().find(each.expected) != std::string::npos, pattern.error()->message());
      check(!pattern.start(), "it starts");
    }));
  }
}

// Memory in several pieces is written by one put, from an offset on; and only with barriers.
TEST(PatternErrors, MemoryInPiecesTakesOnePut) {
  for (const std::uint64_t puts : {1U, 2U}) {
    auto world = World::create({.fabric = "tofu:1x1x1", .peers = 2});
    ASSERT_TRUE(world) << world.error().message();
    expect_no_errors(world->run([puts](Peer& peer) -> Task {
      std::vector<std::byte> out(8, std::byte{3});
      std::vector<std::byte> in(64);
      const Layout pieces = Layout::strided(in.data(), 4, 8, 16);
      Pattern without = check(Pattern::create(peer.context()));
      const auto refused = without.expose(Tag{5}, pieces);
      check(!refused && refused.error().fact == "exposed memory must be contiguous, area 5 is not", "exposed");
      Pattern pattern = check(Pattern::create(peer.context(), {.barriers = true}));
      if (peer.rank() == Rank{1}) check(pattern.expose(Tag{5}, pieces));
      for (std::uint64_t i = 0; peer.rank() == Rank{0} && i < puts; ++i) check(pattern.put(Rank{1}, Tag{5}, 12, out));
      const Request compiling = check(pattern.start_compile());
      const Completion compiled = co_await peer.wait(compiling);
      check(compiled.code == (puts == 1 ? ErrorCode::ok : ErrorCode::bad_argument), "compile");
      if (puts == 2) {
        const std::string why = peer.rank() == Rank{0} ? "is not contiguous" : "another process found";
        check(pattern.error()->message().find(why) != std::string::npos, pattern.error()->message());
        co_return;
      }
      co_await start(peer, pattern, ErrorCode::ok);
      // Bytes 12 to 19 of the message are the last 4 of the second block and the first 4 of the third.
      for (std::size_t i = 0; peer.rank() == Rank{1} && i < in.size(); ++i)
        check((in[i] == std::byte{3}) == ((i >= 20 && i < 24) || (i >= 32 && i < 36)), "wrong data");
    }));
  }
}

// One process among others has another option; it makes no difference to the requests, which only some of them have.
TEST(PatternErrors, FailEverywhereWhenOptionsDiffer) {
  struct Case {
    const char* expected;
    PatternOptions odd;
  };
  const Case cases[] = {{"this one with barriers and by algorithm 'sharing'", {.barriers = true}},
                        {"this one without barriers and by algorithm 'immediate'", {.algorithm = "immediate"}}};
  for (const Case& each : cases)
    for (const std::uint32_t odd : {0U, 3U, 4U}) {
      auto world = World::create({.fabric = "tofu:1x1x1", .peers = 5});
      ASSERT_TRUE(world) << world.error().message();
      expect_no_errors(world->run([&each, odd](Peer& peer) -> Task {
        std::vector<std::byte> out(64);
        std::vector<std::byte> in(64);
        Pattern pattern =
            check(Pattern::create(peer.context(), peer.rank() == Rank{odd} ? each.odd : PatternOptions{}));
        if (peer.rank() == Rank{0}) check(pattern.send(Rank{1}, Tag{1}, ConstLayout(out)));
        if (peer.rank() == Rank{1}) check(pattern.receive(Rank{0}, Tag{1}, Layout(in)));
        const Request compiling = check(pattern.start_compile());
        const Completion compiled = co_await peer.wait(compiling);
        check(compiled.code == ErrorCode::bad_argument, "it compiles");
        if (peer.rank() == Rank{odd})
          check(pattern.error()->message().find(each.expected) != std::string::npos, pattern.error()->message());
        check(!pattern.start(), "it starts");
        // The same processes go on with one that fits.
        Pattern sound = check(Pattern::create(peer.context(), each.odd));
        const Request again = check(sound.start_compile());
        const Completion ended = co_await peer.wait(again);
        check(ended.code == ErrorCode::ok, "one with the same options everywhere");
      }));
    }
}

} // namespace
} // namespace heddle::simulation
