// Several contexts of one process in an open world: they find each other by name, in every order.
#include <heddle/heddle.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <numeric>
#include <vector>

namespace heddle {
namespace {

using testing::HasSubstr;

Context opened(const Options& options = {}) {
  auto made = Context::open(options);
  if (!made) throw std::runtime_error(made.error().message());
  return std::move(*made);
}

// Lets all make progress until it is so.
template <typename... Contexts>
bool until(const std::function<bool()>& done, Contexts&... contexts) {
  std::array<Event, 1> none;
  for (int round = 0; round < 2'000'000; ++round) {
    if (done()) return true;
    ((void)contexts.poll(std::span(none).first(0)), ...);
  }
  return false;
}

// One message from a to b, who does not say whom it expects. The source as b sees it.
Rank pass(Context& a, Rank to, Context& b, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + 3);
  std::vector<std::byte> in(bytes);
  const auto sent = a.send(to, Tag{5}, out);
  const auto received = b.receive({.source = kAnySource, .tag = Tag{5}}, in);
  EXPECT_TRUE(sent) << sent.error().message();
  EXPECT_TRUE(received);
  if (!sent || !received) return kAnySource;
  std::optional<Completion> ended;
  std::optional<Completion> got;
  EXPECT_TRUE(until(
      [&] {
        if (!ended) ended = a.test(*sent);
        if (!got) got = b.test(*received);
        return ended && got;
      },
      a, b))
      << a.waiting_for() << b.waiting_for();
  if (!ended || !got) return kAnySource;
  EXPECT_EQ(ended->code, ErrorCode::ok);
  EXPECT_EQ(got->code, ErrorCode::ok);
  EXPECT_EQ(in, out);
  return got->peer;
}

constexpr std::array<std::size_t, 4> kSizes{0, 8, 3000, 300'000};

TEST(OpenWorld, NumbersItselfFirst) {
  Context a = opened();
  EXPECT_EQ(a.rank(), Rank{0});
  EXPECT_EQ(a.size(), 1U);
  EXPECT_EQ(pass(a, Rank{0}, a, 100), Rank{0});
}

TEST(OpenWorld, ServesOneThatWasAddedByBoth) {
  Context a = opened();
  Context b = opened();
  const Rank at_a = *a.add_peer(*b.name());
  const Rank at_b = *b.add_peer(*a.name());
  for (const std::size_t bytes : kSizes) {
    EXPECT_EQ(pass(a, at_a, b, bytes), at_b);
    EXPECT_EQ(pass(b, at_b, a, bytes), at_a);
  }
}

TEST(OpenWorld, GivesARankToWhoComesAndFindsItWhenItIsAdded) {
  Context a = opened();
  Context b = opened();
  const Rank at_a = *a.add_peer(*b.name());
  const Rank at_b = pass(a, at_a, b, 8);
  EXPECT_EQ(at_b, Rank{1});
  EXPECT_EQ(pass(b, at_b, a, 8), at_a);
  EXPECT_EQ(*b.add_peer(*a.name()), at_b);
  EXPECT_EQ(*b.add_peer(*a.name()), at_b) << "as often as one likes";
  EXPECT_EQ(b.size(), 2U);
}

TEST(OpenWorld, BothSidesMayBeginAtOnce) {
  for (int round = 0; round < 50; ++round) {
    Context a = opened();
    Context b = opened();
    const Rank at_a = *a.add_peer(*b.name());
    const Rank at_b = *b.add_peer(*a.name());
    std::uint64_t to_b = 1;
    std::uint64_t to_a = 2;
    std::uint64_t in_a = 0;
    std::uint64_t in_b = 0;
    const std::vector<std::pair<Context*, Request>> all{
        {&a, *a.send(at_a, Tag{1}, std::span(&to_b, 1))},
        {&b, *b.send(at_b, Tag{1}, std::span(&to_a, 1))},
        {&a, *a.receive({.source = at_a, .tag = Tag{1}}, std::span(&in_a, 1))},
        {&b, *b.receive({.source = at_b, .tag = Tag{1}}, std::span(&in_b, 1))}};
    std::size_t ended = 0;
    std::vector<bool> done(all.size());
    ASSERT_TRUE(until(
        [&] {
          for (std::size_t i = 0; i < all.size(); ++i)
            if (!done[i] && all[i].first->test(all[i].second)) done[i] = true, ++ended;
          return ended == all.size();
        },
        a, b));
    EXPECT_EQ(in_a, 2U);
    EXPECT_EQ(in_b, 1U);
  }
}

TEST(OpenWorld, ManyTalkToOne) {
  Context server = opened({.ring_bytes = 4096, .ring_memory = 16 << 10}); // some share a ring
  std::vector<Context> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(opened());
  std::vector<Rank> seen;
  for (Context& client : clients) {
    const Rank at_client = *client.add_peer(*server.name());
    seen.push_back(pass(client, at_client, server, 8));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(seen[i], Rank{static_cast<std::uint32_t>(i + 1)});
    for (const std::size_t bytes : kSizes) {
      EXPECT_EQ(pass(clients[i], Rank{1}, server, bytes), seen[i]);
      EXPECT_EQ(pass(server, seen[i], clients[i], bytes), Rank{1});
    }
  }
}

TEST(OpenWorld, TellsOfOneThatCloses) {
  Context a = opened();
  Rank at_a{};
  {
    Context b = opened();
    at_a = *a.add_peer(*b.name());
    pass(a, at_a, b, 8);
  }
  std::array<Event, 4> events;
  std::size_t count = 0;
  EXPECT_TRUE(until([&] { return (count = a.poll(events)) > 0; }, a));
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(events[0].kind, Event::Kind::peer_left);
  EXPECT_EQ(events[0].completion.peer, at_a);
  EXPECT_EQ(a.send(at_a, Tag{1}, {}).error().code, ErrorCode::peer_left);
  EXPECT_TRUE(a.remove_peer(at_a));
}

TEST(OpenWorld, TellsOfOneThatClosesBeforeItHasAnswered) {
  Context a = opened();
  std::optional<Context> b = opened();
  const Rank at_a = *a.add_peer(*b->name());
  const auto sent = *a.send(at_a, Tag{1}, {}, SendMode::synchronous);
  std::array<Event, 1> none;
  for (int i = 0; i < 100; ++i) (void)a.poll(std::span(none).first(0)); // its request stands there
  b.reset();
  std::optional<Completion> ended;
  EXPECT_TRUE(until([&] { return (ended = a.test(sent)).has_value(); }, a)) << a.waiting_for();
  EXPECT_EQ(ended->code, ErrorCode::peer_left);
}

// Its goodbye stands behind more than the socket takes.
TEST(OpenWorld, LeavesInGoodOrderFromBehindAFullSocket) {
  Context a = opened({.translators = "tcp"});
  const auto memory = a.one_sided().allocate(AreaId{7}, 1 << 20);
  ASSERT_TRUE(memory);
  Context b = opened({.translators = "tcp"});
  const Rank at_b = *b.add_peer(*a.name());
  const Rank at_a = pass(b, at_b, a, 8);
  const std::vector<std::byte> data(1 << 20, std::byte{9});
  Tracker first;
  b.one_sided().push({at_b, AreaId{7}, 0}, std::span(data).first(8), first);
  ASSERT_TRUE(until([&] { return first.ended(); }, a, b));
  Tracker pushed; // lives until b is gone
  for (int i = 0; i < 32; ++i) b.one_sided().push({at_b, AreaId{7}, 0}, data, pushed);
  ASSERT_FALSE(pushed.ended()) << "the socket holds all of it, which is not what this test is about";

  const auto leaving =
      std::async(std::launch::async, [gone = std::move(b)]() mutable { const Context last = std::move(gone); });
  leaving.wait_for(std::chrono::milliseconds(100)); // long enough for one that does not wait to be gone
  std::array<Event, 1> events;
  EXPECT_TRUE(until([&] { return a.poll(events) > 0; }, a));
  EXPECT_EQ(events[0].kind, Event::Kind::peer_left);
  EXPECT_EQ(events[0].completion.peer, at_a);
}

TEST(OpenWorld, RefusesNamesOfThoseWhoAreGone) {
  Context a = opened();
  std::optional<Context> b = opened();
  const Name name = *b->name();
  b.reset();
  const auto added = a.add_peer(name);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::unreachable) << added.error().message();
  EXPECT_EQ(a.size(), 1U) << "nobody was numbered";
}

// Of several networks that both use, the one that its owner prefers whose id is lower: both sides take the same.
TEST(OpenWorld, TakesOneOfSeveralNetworksForEachPeer) {
  const auto by = [](Context& from, Context& to) { return from.why(*from.add_peer(*to.name()), 8)->translator; };
  for (int round = 0; round < 8; ++round) { // ids are drawn
    Context near = opened({.translators = "shm,tcp"});
    Context also = opened({.translators = "shm,tcp"});
    Context far = opened({.translators = "tcp"});
    Context other = opened({.translators = "tcp,shm"});
    EXPECT_EQ(by(near, also), "shm");
    EXPECT_EQ(by(near, far), "tcp");
    EXPECT_EQ(by(far, near), "tcp");
    EXPECT_EQ(by(near, other), by(other, near));
    EXPECT_EQ(pass(near, Rank{1}, also, 3000), *also.add_peer(*near.name()));
    EXPECT_EQ(pass(near, Rank{2}, far, 3000), *far.add_peer(*near.name()));
    EXPECT_EQ(pass(near, Rank{3}, other, 3000), *other.add_peer(*near.name()));
    EXPECT_EQ(pass(other, *other.add_peer(*near.name()), near, 300'000), Rank{3});
  }
}

TEST(OpenWorld, SaysWhichNetworksDoNotLeadToAPeer) {
  Context near = opened({.translators = "shm"});
  Context far = opened({.translators = "tcp"});
  const auto added = near.add_peer(*far.name());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::unreachable);
  EXPECT_THAT(added.error().fact, HasSubstr("no network leads to it; it uses others than this process shm"));
  ::setenv("HEDDLE_NODE", "elsewhere", 1);
  Context elsewhere = opened({.translators = "shm"});
  ::unsetenv("HEDDLE_NODE");
  EXPECT_THAT(near.add_peer(*elsewhere.name()).error().fact, HasSubstr("; shm: it is on another machine"));
}

TEST(OpenWorld, RefusesItself) {
  Context a = opened();
  const auto added = a.add_peer(*a.name());
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::bad_argument);
}

TEST(OpenWorld, RemovesAPeerAndEndsWhatIsUnderWay) {
  Context a = opened();
  Context b = opened();
  const Rank at_a = *a.add_peer(*b.name());
  const Rank at_b = pass(a, at_a, b, 8);
  std::vector<std::byte> large(1 << 20);
  const auto sent = *a.send(at_a, Tag{9}, large);
  const auto expected = *a.receive({.source = at_a, .tag = Tag{3}}, std::span(large));
  const auto any = *a.receive({.source = kAnySource, .tag = Tag{3}}, std::span(large));
  ASSERT_TRUE(a.remove_peer(at_a));
  EXPECT_EQ(a.test(sent)->code, ErrorCode::cancelled);
  EXPECT_EQ(a.test(expected)->code, ErrorCode::cancelled);
  EXPECT_FALSE(a.test(any)) << "another may send it";
  const auto again = a.send(at_a, Tag{1}, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::bad_argument);
  EXPECT_THAT(again.error().fact, HasSubstr("was removed"));
  EXPECT_TRUE(a.remove_peer(at_a)) << "once more does nothing";
  EXPECT_EQ(a.remove_peer(Rank{0}).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(a.remove_peer(Rank{99}).error().code, ErrorCode::bad_argument);
  std::array<Event, 4> events;
  std::size_t count = 0;
  EXPECT_TRUE(until([&] { return (count = b.poll(events)) > 0; }, a, b)) << b.waiting_for();
  EXPECT_EQ(events[0].kind, Event::Kind::peer_left);
  EXPECT_EQ(events[0].completion.peer, at_b);
  EXPECT_EQ(a.poll(events), 0U) << "who removes needs not be told";
}

TEST(OpenWorld, AddsAgainWhatWasRemoved) {
  Context a = opened();
  Context b = opened();
  Rank last = Rank{0};
  for (int round = 0; round < 30; ++round) {
    const Rank at_a = *a.add_peer(*b.name());
    EXPECT_GT(static_cast<std::uint32_t>(at_a), static_cast<std::uint32_t>(last)) << "a rank is given once";
    last = at_a;
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100'000}}) pass(a, at_a, b, bytes);
    ASSERT_TRUE(a.remove_peer(at_a));
  }
  std::array<Event, 64> events;
  std::size_t told = 0;
  EXPECT_TRUE(until([&] { return (told += b.poll(events)) >= 30; }, a, b));
}

// The first attempt is given up while it is being made, in every round of it.
TEST(OpenWorld, AddsAgainWhatWasRemovedBeforeItWasConnected) {
  for (int polls = 0; polls < 12; ++polls) {
    SCOPED_TRACE(polls);
    Context a = opened();
    Context b = opened();
    Context c = opened();
    std::array<Event, 1> none;
    const Rank first = *a.add_peer(*b.name());
    const auto sent = *a.send(first, Tag{9}, {});
    for (int i = 0; i < polls; ++i) (void)a.poll(std::span(none).first(0));
    ASSERT_TRUE(a.remove_peer(first));
    EXPECT_EQ(a.test(sent)->code, ErrorCode::cancelled);
    const Rank again = *a.add_peer(*b.name());
    for (int i = 0; i < polls; ++i) (void)a.poll(std::span(none).first(0));
    pass(a, again, b, 8);
    pass(c, *c.add_peer(*b.name()), b, 8); // nothing is left locked
  }
}

// What is being sent with the sender's help when it is removed.
TEST(OpenWorld, RemovesAPeerInTheMiddleOfALargeMessage) {
  for (int polls = 0; polls < 60; ++polls) {
    Context a = opened();
    Context b = opened();
    const Rank at_a = *a.add_peer(*b.name());
    const Rank at_b = pass(a, at_a, b, 8);
    std::vector<std::byte> out(3 << 20, std::byte{7});
    std::vector<std::byte> in(out.size());
    const auto sent = *a.send(at_a, Tag{9}, out);
    const auto received = *b.receive({.source = at_b, .tag = Tag{9}}, in);
    std::array<Event, 4> events;
    for (int i = 0; i < polls; ++i) (void)(i % 2 == 0 ? b : a).poll(std::span(events).first(0));
    Context& remover = polls % 3 == 0 ? a : b;
    ASSERT_TRUE(remover.remove_peer(polls % 3 == 0 ? at_a : at_b));
    std::optional<Completion> at_sender;
    std::optional<Completion> at_receiver;
    EXPECT_TRUE(until(
        [&] {
          if (!at_sender) at_sender = a.test(sent);
          if (!at_receiver) at_receiver = b.test(received);
          return at_sender && at_receiver;
        },
        a, b));
    EXPECT_TRUE(!at_receiver || at_receiver->code != ErrorCode::ok || in == out);
    Context& other = polls % 3 == 0 ? b : a;
    EXPECT_TRUE(until([&] { return other.poll(events) > 0; }, a, b)); // it is told
    EXPECT_TRUE(other.remove_peer(events[0].completion.peer));
    for (int i = 0; i < 300; ++i) {
      (void)a.poll(std::span(events).first(0));
      (void)b.poll(std::span(events).first(0));
    }
  }
}

// One that is removed has taken a slot of the ring that it shares with others, and writes there before it hears of that: when the
// reader has passed the slot by so many records.
void expect_no_harm_by_a_late_record(std::size_t passed) {
  SCOPED_TRACE(passed);
  Context server = opened({.ring_bytes = 4096, .ring_memory = 4096}); // shared by all
  Context removed = opened();
  Context stays = opened();
  const Rank from_removed = *removed.add_peer(*server.name());
  const Rank from_stays = *stays.add_peer(*server.name());
  const Rank at_server = pass(removed, from_removed, server, 8);
  ASSERT_NE(pass(stays, from_stays, server, 8), at_server);
  ASSERT_EQ(pass(removed, from_removed, server, 8), at_server); // it knows which slot comes next

  const std::uint64_t late = 0;
  ASSERT_TRUE(removed.send(from_removed, Tag{6}, std::span(&late, 1))); // it has a slot now
  ASSERT_TRUE(server.remove_peer(at_server));
  std::vector<std::uint64_t> got(100, ~0U);
  std::vector<std::uint64_t> values(got.size());
  std::iota(values.begin(), values.end(), 0U);
  std::vector<Request> receives;
  std::vector<Request> sends;
  for (std::size_t i = 0; i < got.size(); ++i) {
    receives.push_back(*server.receive({.source = kAnySource, .tag = Tag{5}}, std::span(&got[i], 1)));
    sends.push_back(*stays.send(from_stays, Tag{5}, std::span(&values[i], 1)));
  }
  auto received = [&, ended = std::size_t{0}](std::size_t count) mutable {
    while (ended < count && server.test(receives[ended])) ++ended;
    return ended == count;
  };
  EXPECT_TRUE(until([&] { return received(passed); }, server, stays));
  std::array<Event, 1> none;
  for (int i = 0; i < 200; ++i) (void)stays.poll(std::span(none).first(0)); // it fills the ring
  (void)removed.poll(std::span(none).first(0));
  EXPECT_TRUE(until([&] { return received(got.size()); }, removed, server, stays))
      << server.waiting_for() << stays.waiting_for();
  EXPECT_EQ(got, values);
}

TEST(OpenWorld, ALateRecordOfARemovedPeerHarmsNoOther) {
  for (std::size_t passed = 1; passed <= 40; ++passed) expect_no_harm_by_a_late_record(passed);
}

TEST(OpenWorld, RefusesWhatNeedsCommonRanks) {
  Context a = opened();
  std::vector<std::byte> block(8);
  EXPECT_EQ(a.barrier().error().code, ErrorCode::unsupported);
  EXPECT_EQ(a.start_barrier().error().code, ErrorCode::unsupported);
  EXPECT_EQ(a.alltoall(block, block).error().code, ErrorCode::unsupported);
  EXPECT_EQ(Pattern::create(a).error().code, ErrorCode::unsupported);
  EXPECT_EQ(a.one_sided().create_lock(AreaId{1}).error().code, ErrorCode::unsupported);
  EXPECT_EQ(a.one_sided().lock(Rank{0}, AreaId{1}), ErrorCode::unsupported);
  EXPECT_EQ(a.one_sided().try_lock(Rank{0}, AreaId{1}), ErrorCode::unsupported);
  EXPECT_EQ(a.one_sided().unlock(Rank{0}, AreaId{1}), ErrorCode::unsupported);
  EXPECT_EQ(a.host_name(Rank{0})->empty(), false);
  Context b = opened();
  const Rank at_a = *a.add_peer(*b.name());
  EXPECT_EQ(a.host_name(at_a).error().code, ErrorCode::unsupported);
  EXPECT_EQ(a.local_rank(at_a).error().code, ErrorCode::unsupported);
}

TEST(OpenWorld, RefusesOpenCallsInAJob) {
  auto job = Context::join({.single = true});
  ASSERT_TRUE(job);
  Context a = opened();
  EXPECT_EQ(job->name().error().code, ErrorCode::unsupported);
  EXPECT_EQ(job->add_peer(*a.name()).error().code, ErrorCode::unsupported);
  EXPECT_EQ(job->remove_peer(Rank{0}).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(job->barrier()) << "both kinds live side by side";
}

TEST(OpenWorld, PushesAndPulls) {
  Context a = opened();
  Context b = opened();
  const Rank at_a = *a.add_peer(*b.name());
  const auto memory = b.one_sided().allocate(AreaId{7}, 4096);
  ASSERT_TRUE(memory);
  std::vector<std::byte> data(4096, std::byte{9});
  Tracker pushed;
  a.one_sided().push({at_a, AreaId{7}, 0}, data, pushed);
  EXPECT_TRUE(until([&] { return pushed.ended(); }, a, b));
  EXPECT_EQ(pushed.code(), ErrorCode::ok);
  EXPECT_EQ((*memory)[4095], std::byte{9});
  std::vector<std::byte> back(4096);
  Tracker pulled;
  a.one_sided().pull({at_a, AreaId{7}, 0}, back, pulled);
  EXPECT_TRUE(until([&] { return pulled.ended(); }, a, b));
  EXPECT_EQ(back, data);
  Tracker counted;
  a.one_sided().atomic({at_a, AreaId{7}, 8}, Atomic::add(1), counted);
  EXPECT_TRUE(until([&] { return counted.ended(); }, a, b));
  EXPECT_EQ(counted.code(), ErrorCode::ok);
  ASSERT_TRUE(a.remove_peer(at_a));
  Tracker late;
  a.one_sided().push({at_a, AreaId{7}, 0}, data, late);
  EXPECT_TRUE(until([&] { return late.ended(); }, a, b));
  EXPECT_NE(late.code(), ErrorCode::ok);
}

} // namespace
} // namespace heddle
