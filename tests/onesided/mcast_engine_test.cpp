// mcast between engines of one thread, on networks where it goes as a tree of receivers that hand it on.
#include "tests/onesided/engines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>

namespace heddle::tests {
namespace {

constexpr Shape kNetwork{
    .processor_copies = false, .inline_bytes = 4096, .largest_transfer = 1 << 16, .late_percent = 30};
constexpr Shape kTight{
    .processor_copies = false, .inline_bytes = 64, .largest_transfer = 1000, .refuse_percent = 20, .late_percent = 20};
constexpr Shape kAnnouncing{.processor_copies = false,
                            .inline_bytes = 4096,
                            .largest_transfer = 1 << 16,
                            .announcing = true,
                            .late_percent = 30};

class McastEngine : public Engines {
 protected:
  // Areas of that size at all but the first, which sends.
  void open(std::uint32_t size, std::size_t bytes, std::uint64_t seed = 1) {
    build(size, seed);
    memories.assign(size, {});
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      memories[rank] = *at(rank).allocate(kArea, bytes, Access::all());
      peers.push_back(Rank{rank});
    }
  }
  void start(std::span<const std::byte> data, Tracker& tracker, const Selection& selection = {}, Signal signal = {},
             std::uint64_t offset = 0) {
    at(0).mcast(peers,
                {.place = {.peer = {}, .area = kArea, .offset = offset},
                 .local = unconst(data),
                 .selection = selection,
                 .signal = signal},
                tracker);
  }
  ErrorCode mcast(std::span<const std::byte> data, const Selection& selection = {}, Signal signal = {},
                  std::uint64_t offset = 0) {
    Tracker tracker;
    start(data, tracker, selection, signal, offset);
    return finish(tracker);
  }
  [[nodiscard]] bool has(std::uint32_t rank, std::span<const std::byte> data, std::uint64_t offset = 0) const {
    return std::ranges::equal(memories[rank].subspan(offset, data.size()), data);
  }

  std::vector<std::span<std::byte>> memories;
  std::vector<Rank> peers;
};

INSTANTIATE_TEST_SUITE_P(Manners, McastEngine,
                         testing::Values(Manner{"Network", kNetwork}, Manner{"Tight", kTight},
                                         Manner{"Announcing", kAnnouncing}),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(McastEngine, ReachesEveryReceiver) {
  open(21, 200'000);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{600}, std::size_t{5000}, std::size_t{150'000}}) {
    const auto data = pattern(bytes, static_cast<unsigned>(bytes));
    EXPECT_EQ(mcast(data, {}, {}, 24), ErrorCode::ok) << bytes;
    for (std::uint32_t rank = 1; rank < 21; ++rank) EXPECT_TRUE(has(rank, data, 24)) << bytes << " at " << rank;
  }
}

TEST_P(McastEngine, GoesOnBatchByBatch) {
  constexpr std::size_t kBytes = 3'000'000; // more than one batch of records
  open(7, kBytes);
  const auto data = pattern(kBytes, 5);
  EXPECT_EQ(mcast(data), ErrorCode::ok);
  for (std::uint32_t rank = 1; rank < 7; ++rank) EXPECT_TRUE(has(rank, data)) << rank;
}

// Who forwards puts less onto the sender's link than as many pushes would.
TEST_P(McastEngine, IsHandedOnByReceivers) {
  open(31, 8192);
  const auto data = pattern(4000, 1);
  ASSERT_EQ(mcast(data), ErrorCode::ok);
  std::uint64_t connected = 0;
  for (std::uint32_t rank = 1; rank < 31; ++rank)
    for (std::uint32_t other = 1; other < 31; ++other)
      if (rank != other && (*cluster)[rank].connected(other)) ++connected;
  EXPECT_GT(connected, 20U) << "receivers have not talked to each other";
}

TEST_P(McastEngine, SendsWhatIsSelected) {
  open(9, 8192);
  std::vector<std::byte> model(8192);
  const auto data = pattern(4096, 6);
  EXPECT_EQ(mcast(data, Selection::strided(50, 20, 101, 200), {}, 3), ErrorCode::ok);
  for (std::size_t i = 0; i < 20; ++i) std::memcpy(model.data() + 3 + i * 200, data.data() + i * 101, 50);
  const std::vector<std::uint64_t> bits(8, 0x5555'5555'5555'5555ULL);
  EXPECT_EQ(mcast(data, Selection::bitmap(bits, 8), {}, 4096), ErrorCode::ok);
  for (std::size_t word = 0; word < 512; word += 2)
    std::memcpy(model.data() + 4096 + word * 8, data.data() + word * 8, 8);
  auto changed = model;
  for (std::size_t i = 0; i < 8192; i += 12) changed[i] ^= std::byte{0xff};
  EXPECT_EQ(mcast(changed, Selection::changed(model)), ErrorCode::ok);
  for (std::uint32_t rank = 1; rank < 9; ++rank) EXPECT_TRUE(has(rank, changed)) << rank;
}

TEST_P(McastEngine, GivesEveryReceiverOneEvent) {
  open(12, 70'000);
  const auto data = pattern(65'000, 6);
  EXPECT_EQ(mcast(data, {}, Signal::event(Tag{9})), ErrorCode::ok);
  cluster->settle();
  for (std::uint32_t rank = 1; rank < 12; ++rank) {
    std::array<Event, 4> events;
    ASSERT_EQ((*cluster)[rank].take_events(events), 1U) << rank;
    EXPECT_EQ(events[0].kind, Event::Kind::pushed);
    EXPECT_EQ(events[0].completion.peer, Rank{0});
    EXPECT_EQ(events[0].completion.tag, Tag{9});
    EXPECT_EQ(events[0].completion.bytes, 65'000U);
  }
}

TEST_P(McastEngine, ReportsWhoeverRefusesAndServesTheOthers) {
  open(14, 4096);
  ASSERT_TRUE(at(3).close(kArea));
  const auto data = pattern(3000, 1);
  EXPECT_EQ(mcast(data), ErrorCode::unknown_area);
  memories[3] = *at(3).allocate(kArea, 4096, Access::only({Rank{5}}));
  EXPECT_EQ(mcast(pattern(3000, 2)), ErrorCode::closed_area);
  ASSERT_TRUE(at(3).close(kArea));
  memories[3] = *at(3).allocate(kArea, 2000, Access::all());
  EXPECT_EQ(mcast(pattern(3000, 3)), ErrorCode::out_of_range);
  for (std::uint32_t rank = 1; rank < 14; ++rank) {
    if (rank != 3) {
      EXPECT_TRUE(has(rank, pattern(3000, 3))) << rank;
    }
  }
  EXPECT_EQ(std::ranges::count(memories[3], std::byte{0}), 2000) << "something was written to it";
  peers.push_back(Rank{99});
  EXPECT_EQ(mcast(data), ErrorCode::bad_argument);
  EXPECT_TRUE(has(13, data));
}

// Nobody but the sender may have the keys: nobody else is given them to hand on.
TEST_P(McastEngine, KeepsKeysFromThoseWhoMayNotHaveThem) {
  build(10);
  memories.assign(10, {});
  for (std::uint32_t rank = 1; rank < 10; ++rank) {
    memories[rank] = *at(rank).allocate(kArea, 4096, Access::only({Rank{0}}));
    peers.push_back(Rank{rank});
  }
  const auto data = pattern(4096, 3);
  EXPECT_EQ(mcast(data), ErrorCode::ok);
  for (std::uint32_t rank = 1; rank < 10; ++rank) {
    EXPECT_TRUE(has(rank, data)) << rank;
    for (std::uint32_t other = 1; other < 10; ++other) EXPECT_FALSE(rank != other && (*cluster)[rank].connected(other));
  }
  EXPECT_EQ(push(2, {Rank{1}, kArea, 0}, data), ErrorCode::closed_area);
}

TEST_P(McastEngine, NamesAPeerTwice) {
  open(6, 4096);
  peers.push_back(Rank{2});
  peers.push_back(Rank{2});
  const auto data = pattern(4096, 3);
  EXPECT_EQ(mcast(data, {}, Signal::event(Tag{1})), ErrorCode::ok);
  cluster->settle();
  std::array<Event, 8> events;
  EXPECT_EQ((*cluster)[2].take_events(events), 3U);
  EXPECT_EQ((*cluster)[1].take_events(events), 1U);
}

// Receivers die while it is under way, and others learn of that late. Everybody who lives has the data, once: whoever has been
// told by an event changes it, and nothing that comes later may undo that.
TEST_P(McastEngine, OutlivesTheDeadInTheMiddle) {
  for (const std::uint64_t seed : seeds(25)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    peers.clear();
    const std::size_t bytes = random() % 2 == 0 ? 3000 : 100'000;
    open(16, bytes, seed);
    const auto data = pattern(bytes, static_cast<unsigned>(seed));
    Tracker tracker;
    start(data, tracker, {}, Signal::event(Tag{1}));
    std::vector<int> told(16, 0);
    std::set<std::pair<std::uint32_t, std::uint32_t>> knows; // who of whose death
    std::uint32_t deaths = 0;
    const auto look = [&](std::uint32_t rank) {
      std::array<Event, 8> events;
      for (std::size_t i = (*cluster)[rank].take_events(events); i-- > 0;) {
        if (events[i].kind != Event::Kind::pushed) continue;
        ++told[rank];
        EXPECT_TRUE(has(rank, data)) << "told before it was all there";
        memories[rank][0] ^= std::byte{0xff};
      }
    };
    for (int step = 0; step < 400'000 && !tracker.ended(); ++step) {
      const auto rank = static_cast<std::uint32_t>(random() % 16);
      if (!cluster->alive(rank)) continue;
      cluster->progress(rank);
      look(rank);
      if (rank != 0 && deaths < 4 && random() % 400 == 0) {
        ++deaths;
        cluster->kill(rank);
        continue;
      }
      for (std::uint32_t dead = 1; dead < 16; ++dead)
        if (!cluster->alive(dead) && random() % 50 == 0 && knows.emplace(rank, dead).second)
          (*cluster)[rank].peer_failed(dead);
    }
    ASSERT_TRUE(tracker.ended()) << (*cluster)[0].waiting_for();
    EXPECT_TRUE(tracker.code() == ErrorCode::ok || (deaths > 0 && tracker.code() == ErrorCode::peer_failed))
        << to_string(tracker.code());
    cluster->settle();
    for (std::uint32_t rank = 1; rank < 16; ++rank) {
      if (!cluster->alive(rank)) continue;
      look(rank);
      EXPECT_EQ(told[rank], 1) << rank;
      EXPECT_EQ(memories[rank][0], data[0] ^ std::byte{0xff}) << rank << " was written to again";
      EXPECT_TRUE(std::ranges::equal(memories[rank].subspan(1), std::span(data).subspan(1))) << rank;
    }
    cluster.reset();
  }
}

TEST_P(McastEngine, LeavesAClosedAreaAlone) {
  for (const std::uint64_t seed : seeds(20)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    build(10, seed);
    memories.assign(10, {});
    peers.clear();
    std::vector<std::vector<std::byte>> buffers(10, std::vector<std::byte>(50'000));
    for (std::uint32_t rank = 1; rank < 10; ++rank) {
      ASSERT_TRUE(at(rank).expose(kArea, buffers[rank], Access::all()));
      memories[rank] = buffers[rank];
      peers.push_back(Rank{rank});
    }
    if (seed % 2 == 0) {
      ASSERT_EQ(mcast(pattern(50'000, 1)), ErrorCode::ok); // keys are known
    }
    const auto data = pattern(50'000, 2);
    Tracker tracker;
    start(data, tracker);
    for (std::uint64_t i = random() % 60; i > 0; --i) cluster->progress();
    const auto closer = static_cast<std::uint32_t>(1 + random() % 9);
    ASSERT_TRUE(at(closer).close(kArea));
    const std::vector<std::byte> as_closed = buffers[closer];
    const ErrorCode code = finish(tracker);
    EXPECT_TRUE(code == ErrorCode::ok || code == ErrorCode::revoked_area || code == ErrorCode::unknown_area)
        << to_string(code);
    EXPECT_EQ(buffers[closer], as_closed) << "written after it was closed";
    EXPECT_TRUE(code != ErrorCode::ok || has(closer, data));
    for (std::uint32_t rank = 1; rank < 10; ++rank) EXPECT_TRUE(rank == closer || has(rank, data)) << rank;
    cluster.reset();
  }
}

} // namespace
} // namespace heddle::tests
