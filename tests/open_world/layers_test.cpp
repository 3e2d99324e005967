// What a layer on top of messages builds on (an MPI, a libfabric provider): injected messages, data words, channels, completions that are
// not wanted, one-sided operations as requests, one context shared by threads. Two contexts of an open world, in one process.
#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace heddle {
namespace {

class Layers : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Context* context : {&here, &there}) ASSERT_TRUE(context->name());
    there_rank = here.add_peer(*there.name()).value();
    here_rank = there.add_peer(*here.name()).value();
  }
  static Context open(std::uint64_t eager = 4096) {
    Options options;
    options.translators = "shm";
    options.ring_memory = std::uint64_t{4} << 20U;
    options.ring_bytes = std::uint64_t{64} << 10U;
    options.eager_limit = eager;
    return std::move(Context::open(options).value());
  }
  // Polls both until one has an event, which is taken from the one that is named.
  Event event_of(Context& context) {
    std::array<Event, 1> events;
    std::array<Event, 1> others;
    while (context.poll(events) == 0)
      if (Context& other = &context == &here ? there : here; other.poll(others) != 0) pending.push_back(others[0]);
    return events[0];
  }
  void progress() {
    std::array<Event, 8> events;
    for (Context* context : {&here, &there})
      for (std::size_t i = 0, count = context->poll(events); i < count; ++i) pending.push_back(events[i]);
  }
  Completion wait(Context& context, Request request) {
    for (;;) {
      if (auto ended = context.test(request)) return *ended;
      progress();
    }
  }

  Context here = open();
  Context there = open();
  Rank there_rank{};
  Rank here_rank{};
  std::deque<Event> pending;
};

TEST_F(Layers, ADataWordTravelsBesideTheTagInEveryProtocol) {
  for (const std::uint64_t bytes : {0U, 1U, 8U, 4000U, 4088U, 4089U, 4096U, 100'000U, 3'000'000U})
    for (const SendMode mode : {SendMode::standard, SendMode::synchronous})
      for (const bool posted : {true, false})
        for (const bool strided : {false, true}) {
          SCOPED_TRACE(testing::Message() << bytes << " bytes, mode " << static_cast<int>(mode)
                                          << (posted ? ", posted" : "") << (strided ? ", strided" : ""));
          std::vector<std::byte> out(bytes);
          std::vector<std::byte> in(bytes);
          for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + bytes);
          const std::uint64_t word = 0xfedc'ba98'7654'3210ULL + bytes;
          const Match match{.source = here_rank, .tag = Tag{5}};
          std::optional<Request> received;
          if (posted) received = there.receive(match, in).value();
          const std::array pieces = {ConstPiece{out.data(), bytes / 3},
                                     ConstPiece{out.data() + bytes / 3, bytes - bytes / 3}};
          const ConstLayout layout = strided ? ConstLayout::pieces(pieces) : ConstLayout(out);
          const Request sent = here.send(there_rank, Tag{5}, layout, {.mode = mode, .data = word}).value();
          if (!posted) {
            std::optional<Envelope> envelope;
            while (!envelope) {
              progress();
              envelope = there.probe(match).value();
            }
            EXPECT_EQ(envelope->data, word);
            EXPECT_EQ(envelope->bytes, bytes);
            received = there.receive(match, in).value();
          }
          const Completion got = wait(there, *received);
          EXPECT_EQ(got.code, ErrorCode::ok);
          EXPECT_TRUE(got.has_data);
          EXPECT_EQ(got.data, word);
          EXPECT_EQ(got.bytes, bytes);
          EXPECT_EQ(in, out);
          EXPECT_EQ(wait(here, sent).code, ErrorCode::ok);
        }
  std::byte one{};
  const Request plain = there.receive({.tag = Tag{6}}, one).value();
  ASSERT_TRUE(here.inject(there_rank, Tag{6}, one));
  EXPECT_FALSE(wait(there, plain).has_data);
}

TEST_F(Layers, ChannelsNeverMeet) {
  int first = 0;
  int second = 0;
  const Request on_second = there.receive({.channel = Channel::second, .mask = 0}, second).value();
  const Request on_first = there.receive({.mask = 0}, first).value();
  const int eleven = 11;
  const int twenty_two = 22;
  const int thirty_three = 33;
  ASSERT_TRUE(here.inject(there_rank, Tag{1}, eleven));
  ASSERT_TRUE(here.send(there_rank, Tag{1}, twenty_two, {.notify = Notify::errors(1), .channel = Channel::second}));
  EXPECT_EQ(wait(there, on_first).tag, Tag{1});
  EXPECT_EQ(wait(there, on_second).code, ErrorCode::ok);
  EXPECT_EQ(first, 11);
  EXPECT_EQ(second, 22);
  ASSERT_TRUE(here.inject(there_rank, Tag{3}, thirty_three, {.channel = Channel::second}));
  std::optional<Message> message;
  while (!message) {
    progress();
    EXPECT_FALSE(there.probe({.mask = 0}).value());
    message = there.matched_probe({.channel = Channel::second, .mask = 0}).value();
  }
  EXPECT_EQ(wait(there, there.receive_matched(*message, second).value()).code, ErrorCode::ok);
  EXPECT_EQ(second, 33);
  for (const auto& error : {here.send(there_rank, Tag{1}, first, {.channel = Channel{2}}).error(),
                            there.receive({.channel = Channel{9}}, first).error(),
                            here.inject(there_rank, Tag{1}, first, {.channel = Channel{2}}).error()})
    EXPECT_EQ(error.code, ErrorCode::bad_argument);
}

TEST_F(Layers, InjectedMessagesHaveLeftTheirMemoryAndKeepTheirOrder) {
  constexpr std::uint64_t kCount = 3000; // more than a ring holds, and than both sides take at once
  std::vector<std::byte> data(1500);
  std::uint64_t injected = 0;
  std::uint64_t received = 0;
  std::vector<std::byte> in(1500);
  while (received < kCount) {
    // Nothing is received at first, so that the library has to hold copies.
    while (injected < kCount) {
      std::ranges::fill(data, static_cast<std::byte>(injected));
      const auto done = here.inject(there_rank, Tag{injected}, data, {.data = injected});
      std::ranges::fill(data, std::byte{0xee});
      if (!done) {
        ASSERT_EQ(done.error().code, ErrorCode::would_block) << done.error().message();
        break;
      }
      ++injected;
    }
    progress();
    const Completion got = wait(there, there.receive({.mask = 0}, in).value());
    ASSERT_EQ(got.tag, Tag{received});
    ASSERT_EQ(got.data, received);
    ASSERT_EQ(in, std::vector<std::byte>(1500, static_cast<std::byte>(received)));
    ++received;
  }
  EXPECT_TRUE(pending.empty()) << "no completions";
  std::vector<std::byte> large(5000);
  EXPECT_EQ(here.inject(there_rank, Tag{1}, large).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(here.inject(Rank{77}, Tag{1}, data).error().code, ErrorCode::bad_argument);
}

TEST_F(Layers, TheLibraryHoldsOnlySoMuchOfWhatIsInjected) {
  const std::vector<std::byte> data(4096);
  std::uint64_t injected = 0;
  while (here.inject(there_rank, Tag{1}, data)) ASSERT_LT(++injected, 100'000U);
  EXPECT_GT(injected, 100U);
  EXPECT_EQ(here.inject(there_rank, Tag{1}, data).error().code, ErrorCode::would_block);
  std::vector<std::byte> in(4096);
  for (std::uint64_t i = 0; i < injected; ++i)
    ASSERT_EQ(wait(there, there.receive({.mask = 0}, in).value()).code, ErrorCode::ok);
  EXPECT_TRUE(here.inject(there_rank, Tag{1}, data));
}

// An operation that none has used before remembers nothing of how another one was to end.
TEST_F(Layers, NoEventTellsOfMessagesThatLeaveAtOnceWhereOnlyFailuresAreWanted) {
  int in = 0;
  for (std::uint64_t tag = 1; tag <= 20; ++tag) {
    const Request receive = there.receive({.tag = Tag{tag}}, in).value();
    ASSERT_TRUE(here.send(there_rank, Tag{tag}, in, SendMode::standard, Notify::errors(tag)));
    EXPECT_EQ(wait(there, receive).code, ErrorCode::ok);
  }
  std::array<Event, 1> events;
  EXPECT_EQ(here.poll(events), 0U);
  EXPECT_TRUE(pending.empty());
}

TEST_F(Layers, WhatIsNotWantedIsHeardOfOnlyWhereItFails) {
  int in = 0;
  ASSERT_TRUE(there.receive({.tag = Tag{1}}, in, Notify::errors(5)));
  ASSERT_TRUE(here.send(there_rank, Tag{1}, in, {.notify = Notify::errors(6)}));
  std::vector<std::byte> large(200'000);
  std::vector<std::byte> too_small(10);
  ASSERT_TRUE(here.send(there_rank, Tag{2}, large, {.notify = Notify::errors(7)}));
  const Request cut = there.receive({.tag = Tag{2}}, too_small, Notify::errors(8)).value();
  const Event event = event_of(there);
  EXPECT_EQ(event.cookie, 8U);
  EXPECT_EQ(event.completion.code, ErrorCode::truncated);
  EXPECT_TRUE(pending.empty());
  EXPECT_EQ(there.wait(cut).code, ErrorCode::stale_request);
  ASSERT_TRUE(here.send(there_rank, Tag{3}, large, {.mode = SendMode::synchronous, .notify = Notify::errors(9)}));
  there = open();
  Event failed = event_of(here);
  if (failed.kind == Event::Kind::peer_left) failed = event_of(here);
  EXPECT_EQ(failed.kind, Event::Kind::sent);
  EXPECT_EQ(failed.cookie, 9U);
  EXPECT_EQ(failed.completion.code, ErrorCode::peer_left);
}

TEST_F(Layers, OneSidedOperationsEndByEventOrAsRequests) {
  std::vector<std::uint64_t> exposed(1000);
  std::iota(exposed.begin(), exposed.end(), 100);
  ASSERT_TRUE(there.one_sided().expose(AreaId{7}, exposed));
  auto words = there.one_sided().allocate(AreaId{8}, 64).value();
  std::vector<std::uint64_t> in(500);
  OneSided& one_sided = here.one_sided();
  ASSERT_TRUE(one_sided.start_pull({there_rank, AreaId{7}, 800}, in, Notify::event(1)));
  Event event = event_of(here);
  EXPECT_EQ(event.kind, Event::Kind::one_sided_ended);
  EXPECT_EQ(event.cookie, 1U);
  EXPECT_EQ(event.completion.code, ErrorCode::ok);
  EXPECT_EQ(event.completion.bytes, 4000U);
  EXPECT_EQ(event.completion.tag, Tag{7});
  EXPECT_EQ(in.front(), 200U);
  std::ranges::fill(in, 5);
  ASSERT_TRUE(one_sided.start_push({there_rank, AreaId{7}, 0}, in, Notify::event(2), Signal::event(Tag{99})));
  EXPECT_EQ(event_of(here).cookie, 2U);
  const Event pushed = pending.empty() ? event_of(there) : pending.front();
  EXPECT_EQ(pushed.kind, Event::Kind::pushed);
  EXPECT_EQ(pushed.completion.tag, Tag{99});
  EXPECT_EQ(exposed.front(), 5U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Request request = one_sided.start_atomic({there_rank, AreaId{8}, 8}, Atomic::add(10), {}).value();
    EXPECT_EQ(wait(here, request).data, i * 10);
  }
  EXPECT_EQ(static_cast<int>(words[8]), 30);
  ASSERT_TRUE(one_sided.start_push({there_rank, AreaId{7}, 0}, in, Notify::errors(3)));
  ASSERT_TRUE(one_sided.start_push({there_rank, AreaId{7}, 7999}, in, Notify::errors(4)));
  event = event_of(here);
  EXPECT_EQ(event.cookie, 4U);
  EXPECT_EQ(event.completion.code, ErrorCode::out_of_range);
  EXPECT_EQ(event.completion.bytes, 0U);
  EXPECT_EQ(wait(here, one_sided.start_pull({there_rank, AreaId{9}, 0}, in, {}).value()).code, ErrorCode::unknown_area);
}

// Each context under a lock of its own, used by two threads.
TEST_F(Layers, ThreadsShareAContextUnderALockOfTheirOwn) {
  constexpr std::uint64_t kEach = 500;
  std::array<std::mutex, 2> locks;
  std::array<Context*, 2> contexts = {&here, &there};
  std::array<Rank, 2> peers = {there_rank, here_rank};
  const auto work = [&](std::size_t side, std::uint64_t who) {
    std::mt19937_64 random(who);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      std::vector<std::uint64_t> out(1 + random() % 2000, i);
      std::vector<std::uint64_t> in(2000);
      std::array<Request, 2> requests;
      {
        const std::lock_guard guard(locks[side]);
        requests[0] = contexts[side]->receive({.tag = Tag{who}, .mask = 0xff}, in).value();
        requests[1] = contexts[side]->send(peers[side], Tag{who}, out).value();
      }
      for (const Request request : requests)
        for (bool ended = false; !ended;) {
          const std::lock_guard guard(locks[side]);
          const auto completion = contexts[side]->test(request);
          if (!completion) contexts[side]->relax();
          ended = completion.has_value();
          if (ended) {
            EXPECT_EQ(completion->code, ErrorCode::ok);
          }
        }
      EXPECT_EQ(in.front(), i);
    }
  };
  std::vector<std::thread> threads;
  for (const std::size_t side : {0U, 1U})
    for (const std::uint64_t who : {1U, 2U}) threads.emplace_back(work, side, who);
  for (std::thread& thread : threads) thread.join();
}

} // namespace
} // namespace heddle
