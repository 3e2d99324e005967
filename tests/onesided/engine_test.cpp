// One-sided operations between engines of one thread, over loopback networks of all manners: nothing is direct memory but a process's
// own memory, so everything goes by commands.
#include "tests/onesided/engines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

namespace heddle::tests {
namespace {

class OneSidedEngine : public Engines {
 protected:
  ErrorCode lock(std::uint32_t by, Rank home = Rank{0}) {
    Tracker tracker;
    at(by).lock(home, kLock, tracker);
    return finish(tracker);
  }
  ErrorCode try_lock(std::uint32_t by, Rank home = Rank{0}) {
    Tracker tracker;
    at(by).try_lock(home, kLock, tracker);
    return finish(tracker);
  }
  ErrorCode unlock(std::uint32_t by, Rank home = Rank{0}) {
    Tracker tracker;
    at(by).unlock(home, kLock, tracker);
    return finish(tracker);
  }
};

const std::array kManners{
    Manner{"Plain", {}}, Manner{"Late", {.late_percent = 40}},
    Manner{"BackPressure", {.refuse_percent = 30, .late_percent = 20}},
    Manner{"Network", {.processor_copies = false, .inline_bytes = 64, .largest_transfer = 1000, .late_percent = 30}},
    Manner{"Announcing", {.announcing = true, .late_percent = 30}}};
INSTANTIATE_TEST_SUITE_P(Manners, OneSidedEngine, testing::ValuesIn(kManners),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(OneSidedEngine, PushesAndPulls) {
  build(3);
  const auto memory = *at(1).allocate(kArea, 10'000, Access::all());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{64}, std::size_t{9000}}) {
    const auto data = pattern(bytes, 3);
    EXPECT_EQ(push(0, {Rank{1}, kArea, 1000}, data), ErrorCode::ok);
    EXPECT_TRUE(std::ranges::equal(memory.subspan(1000, bytes), data)) << bytes;
    std::vector<std::byte> back(bytes);
    EXPECT_EQ(pull(2, {Rank{1}, kArea, 1000}, back), ErrorCode::ok);
    EXPECT_EQ(back, data);
  }
}

// Whoever finds no ring of its own left shares one.
TEST_P(OneSidedEngine, WorksThroughSharedRings) {
  constexpr std::uint32_t kSize = 12;
  engine::Limits limits = usual_limits();
  limits.ring_memory = 4 * limits.ring_bytes;
  cluster = std::make_unique<Cluster>(kSize, limits, GetParam().shape);
  std::vector<std::span<std::byte>> memories;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) memories.push_back(*at(rank).allocate(kArea, 4096, Access::all()));
  ASSERT_TRUE(at(0).create_lock(kLock));
  const auto data = pattern(2000, 3);
  std::vector<Rank> all;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) all.push_back(Rank{rank});
  Tracker tracker;
  at(0).mcast(all, {.place = {.peer = {}, .area = kArea, .offset = 8}, .local = unconst(data)}, tracker);
  EXPECT_EQ(finish(tracker), ErrorCode::ok);
  EXPECT_GT(cluster->node(0).figure("peers that share a ring"), 0U);
  for (std::uint32_t rank = 1; rank < kSize; ++rank) {
    EXPECT_EQ(std::memcmp(memories[rank].data() + 8, data.data(), data.size()), 0) << rank;
    EXPECT_EQ(push(rank, {Rank{0}, kArea, rank * 8}, pattern(8, rank), {}, Signal::event(Tag{rank})), ErrorCode::ok);
    EXPECT_EQ(push(rank, {Rank{0}, kArea, 2048}, data, Selection::strided(4, 30, 40, 50)), ErrorCode::ok);
    EXPECT_EQ(std::memcmp(memories[0].data() + rank * 8, pattern(8, rank).data(), 8), 0) << rank;
    ASSERT_EQ(lock(rank), ErrorCode::ok);
    ASSERT_EQ(unlock(rank), ErrorCode::ok);
  }
}

TEST_P(OneSidedEngine, ReachesItsOwnAreas) {
  build(2);
  const auto memory = *at(1).allocate(kArea, 100, Access::only({}));
  EXPECT_EQ(push(1, {Rank{1}, kArea, 50}, pattern(50, 1)), ErrorCode::ok);
  EXPECT_EQ(std::memcmp(memory.data() + 50, pattern(50, 1).data(), 50), 0);
  EXPECT_TRUE(at(1).close(kArea));
  EXPECT_EQ(push(1, {Rank{1}, kArea, 50}, pattern(50, 1)), ErrorCode::unknown_area);
}

TEST_P(OneSidedEngine, RefusesWhatIsNotOpenAndChangesNothing) {
  build(4);
  const auto memory = *at(1).allocate(kArea, 128, Access::only({Rank{0}}));
  const auto before = pattern(128, 9);
  std::memcpy(memory.data(), before.data(), 128);
  const auto data = pattern(64, 1);
  std::vector<std::byte> into = pattern(64, 2);
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  EXPECT_EQ(push(0, {Rank{1}, AreaId{8}, 0}, data), ErrorCode::unknown_area);
  EXPECT_EQ(push(2, {Rank{1}, kArea, 0}, data), ErrorCode::closed_area);
  EXPECT_EQ(pull(2, {Rank{1}, kArea, 0}, into), ErrorCode::closed_area);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 65}, data), ErrorCode::out_of_range);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 129}, {}), ErrorCode::out_of_range);
  EXPECT_EQ(push(0, {Rank{1}, kArea, kHuge - 10}, data), ErrorCode::out_of_range); // offset + size wraps
  EXPECT_EQ(pull(0, {Rank{1}, kArea, kHuge}, into), ErrorCode::out_of_range);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 0}, data, Selection::strided(8, 2, 8, kHuge - 4)), ErrorCode::out_of_range);
  EXPECT_EQ(push(0, {Rank{4}, kArea, 0}, data), ErrorCode::bad_argument);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 0}, data, Selection::bitmap(std::span<const std::uint64_t>(), 0)),
            ErrorCode::bad_argument);
  EXPECT_EQ(pull(0, {Rank{1}, kArea, 0}, into, Selection::changed(data)), ErrorCode::bad_argument);
  EXPECT_EQ(std::memcmp(memory.data(), before.data(), 128), 0);
  EXPECT_EQ(into, pattern(64, 2));
  EXPECT_EQ(push(0, {Rank{1}, kArea, 64}, data), ErrorCode::ok);
  kill(3);
  EXPECT_EQ(push(0, {Rank{3}, kArea, 0}, data), ErrorCode::peer_failed);
}

TEST_P(OneSidedEngine, RefusesBytesBehindANullPointer) {
  build(2);
  static_cast<void>(*at(1).allocate(kArea, 128, Access::all()));
  const std::span<std::byte> nothing(static_cast<std::byte*>(nullptr), 64);
  const auto data = pattern(64, 1);
  std::vector<std::byte> into(64);
  const std::span<const std::uint64_t> no_bits(static_cast<std::uint64_t*>(nullptr), 1);
  for (const std::uint32_t by : {0U, 1U}) {
    for (const bool known : {false, true}) { // before the key is here, and when all goes at once
      SCOPED_TRACE(testing::Message() << "rank " << by << (known ? " knows" : " asks"));
      EXPECT_FALSE(at(by).push_now({Rank{1}, kArea, 0}, nothing));
      EXPECT_FALSE(at(by).pull_now({Rank{1}, kArea, 0}, nothing));
      EXPECT_EQ(push(by, {Rank{1}, kArea, 0}, nothing), ErrorCode::bad_argument);
      EXPECT_EQ(pull(by, {Rank{1}, kArea, 0}, nothing), ErrorCode::bad_argument);
      EXPECT_EQ(pull(by, {Rank{1}, kArea, 0}, into, {}, nothing), ErrorCode::bad_argument);
      EXPECT_EQ(push(by, {Rank{1}, kArea, 0}, data, Selection::changed(nothing)), ErrorCode::bad_argument);
      EXPECT_EQ(push(by, {Rank{1}, kArea, 0}, data, Selection::bitmap(no_bits, 8)), ErrorCode::bad_argument);
      Tracker tracker;
      const std::array peers{Rank{1}, Rank{0}};
      at(by).mcast(peers, {.place = {.peer = {}, .area = kArea, .offset = 0}, .local = nothing}, tracker);
      EXPECT_NE(finish(tracker), ErrorCode::ok);
      EXPECT_EQ(push(by, {Rank{1}, kArea, 0}, {}), ErrorCode::ok); // no bytes need no memory
    }
  }
  EXPECT_EQ(at(0).expose(kArea, nothing, Access::all()).error().code, ErrorCode::bad_argument);
  EXPECT_TRUE(at(0).expose(kArea, {}, Access::all()));
}

TEST_P(OneSidedEngine, RefusesToExposeMemoryThatCannotBe) {
  build(2);
  std::array<std::byte, 64> memory{};
  for (const std::size_t bytes : {~std::size_t{0}, (std::size_t{1} << 62U) + 1, std::size_t{1} << 63U}) {
    const auto exposed = at(0).expose(kArea, {memory.data(), bytes}, Access::all());
    ASSERT_FALSE(exposed);
    EXPECT_EQ(exposed.error().code, ErrorCode::bad_argument);
    EXPECT_NE(exposed.error().fact.find("past the end of the address space"), std::string::npos)
        << exposed.error().fact;
  }
  const auto last = reinterpret_cast<std::byte*>(~std::uintptr_t{0} - 62);
  EXPECT_EQ(at(0).expose(kArea, {last, 64}, Access::all()).error().code, ErrorCode::bad_argument) << "it wraps";
}

TEST_P(OneSidedEngine, RefusesAListOfPeersBehindANullPointer) {
  build(2);
  static_cast<void>(*at(1).allocate(kArea, 128, Access::all()));
  const auto data = pattern(64, 1);
  Tracker tracker;
  at(0).mcast(
      {static_cast<const Rank*>(nullptr), 2},
      {.place = {.peer = {}, .area = kArea, .offset = 0}, .local = {const_cast<std::byte*>(data.data()), data.size()}},
      tracker);
  EXPECT_EQ(finish(tracker), ErrorCode::bad_argument);
}

TEST_P(OneSidedEngine, RefusesMoreMemoryThanThereIs) {
  build(2);
  for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 7, ~std::size_t{0} / 2, std::size_t{1} << 44U}) {
    const auto made = at(0).allocate(kArea, bytes, Access::all());
    ASSERT_FALSE(made) << bytes;
    EXPECT_EQ(made.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(made.error().fact.find("area " + std::to_string(static_cast<std::uint64_t>(kArea))), std::string::npos);
  }
  EXPECT_TRUE(at(0).allocate(kArea, 64, Access::all())); // the id is free
}

TEST_P(OneSidedEngine, ClosesWithOperationsUnderWay) {
  build(2);
  for (int round = 0; round < 20; ++round) {
    auto memory = std::make_unique<std::vector<std::byte>>(5000);
    ASSERT_TRUE(at(1).expose(kArea, *memory, Access::all()));
    const auto data = pattern(64, 5);
    if (round % 2 == 0) {
      ASSERT_EQ(push(0, {Rank{1}, kArea, 0}, data), ErrorCode::ok);
    }
    Tracker tracker;
    for (std::uint64_t i = 0; i < 50; ++i)
      at(0).push({.place = {Rank{1}, kArea, i * 64}, .local = unconst(data)}, tracker);
    for (int i = 0; i < round; ++i) cluster->progress(0);
    ASSERT_TRUE(at(1).close(kArea));
    const std::vector<std::byte> as_closed = *memory;
    const ErrorCode code = finish(tracker);
    EXPECT_TRUE(code == ErrorCode::ok || code == ErrorCode::revoked_area || code == ErrorCode::unknown_area)
        << to_string(code);
    EXPECT_EQ(*memory, as_closed) << "written after it was closed";
    EXPECT_NE(push(0, {Rank{1}, kArea, 0}, data), ErrorCode::ok);
    cluster->settle();
    EXPECT_EQ(push(0, {Rank{1}, kArea, 0}, data), ErrorCode::unknown_area);
  }
}

TEST_P(OneSidedEngine, GivesAnEventAtTheTargetWhenAsked) {
  build(2);
  const auto memory = *at(1).allocate(kArea, 4096, Access::all());
  const auto data = pattern(3000, 4);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 8}, data, {}, Signal::event(Tag{42})), ErrorCode::ok);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 9000}, data, {}, Signal::event(Tag{43})), ErrorCode::out_of_range);
  std::array<Event, 4> events;
  std::size_t count = 0;
  for (int i = 0; i < 10'000 && count == 0; ++i) {
    cluster->progress();
    count = (*cluster)[1].take_events(events);
  }
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(events[0].kind, Event::Kind::pushed);
  EXPECT_EQ(events[0].cookie, static_cast<std::uint64_t>(kArea));
  EXPECT_EQ(events[0].completion.peer, Rank{0});
  EXPECT_EQ(events[0].completion.tag, Tag{42});
  EXPECT_EQ(events[0].completion.bytes, 3000U);
  EXPECT_EQ(std::memcmp(memory.data() + 8, data.data(), 3000), 0);
  cluster->settle();
  EXPECT_EQ((*cluster)[1].take_events(events), 0U);
}

TEST_P(OneSidedEngine, MovesStridesBitmapsTwinsAndDiffs) {
  build(2);
  const auto memory = *at(1).allocate(kArea, 4096, Access::all());
  std::vector<std::byte> model(4096);
  const auto data = pattern(1024, 6);
  EXPECT_EQ(push(0, {Rank{1}, kArea, 3}, data, Selection::strided(5, 20, 11, 100)), ErrorCode::ok);
  for (std::size_t i = 0; i < 20; ++i) std::memcpy(model.data() + 3 + i * 100, data.data() + i * 11, 5);
  const std::vector<std::uint64_t> bits{0x5555'5555'5555'5555ULL, 0xf0ULL};
  EXPECT_EQ(push(0, {Rank{1}, kArea, 2048}, data, Selection::bitmap(bits, 8)), ErrorCode::ok);
  for (std::size_t word = 0; word < 128; ++word)
    if ((bits[word / 64] >> (word % 64) & 1U) != 0)
      std::memcpy(model.data() + 2048 + word * 8, data.data() + word * 8, 8);
  EXPECT_EQ(std::memcmp(memory.data(), model.data(), 4096), 0);

  std::vector<std::byte> copy(4096);
  std::vector<std::byte> twin(4096);
  EXPECT_EQ(pull(0, {Rank{1}, kArea, 0}, copy, {}, twin), ErrorCode::ok);
  EXPECT_EQ(copy, model);
  EXPECT_EQ(twin, model);
  for (const std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{100}, std::size_t{4095}}) {
    copy[at] ^= std::byte{0xff};
    model[at] ^= std::byte{0xff};
  }
  memory[2000] = model[2000] = std::byte{77}; // another writer, of a word that has not changed here
  EXPECT_EQ(push(0, {Rank{1}, kArea, 0}, copy, Selection::changed(twin)), ErrorCode::ok);
  EXPECT_EQ(std::memcmp(memory.data(), model.data(), 4096), 0);

  std::vector<std::byte> some(1024, std::byte{1});
  std::vector<std::byte> some_twin(1024, std::byte{2});
  EXPECT_EQ(pull(0, {Rank{1}, kArea, 2048}, some, Selection::bitmap(bits, 8), some_twin), ErrorCode::ok);
  for (std::size_t word = 0; word < 128; ++word) {
    const bool chosen = (bits[word / 64] >> (word % 64) & 1U) != 0;
    EXPECT_EQ(std::memcmp(some.data() + word * 8, model.data() + 2048 + word * 8, 8) == 0, chosen) << word;
    EXPECT_EQ(some_twin[word * 8] == std::byte{2}, !chosen) << word;
  }
}

TEST_P(OneSidedEngine, PushesToManyAtOnce) {
  build(6);
  std::vector<std::span<std::byte>> memories;
  for (std::uint32_t rank = 0; rank < 6; ++rank)
    if (rank != 4) memories.push_back(*at(rank).allocate(kArea, 256, Access::all()));
  const auto data = pattern(200, 8);
  Tracker tracker;
  const std::vector<Rank> peers{Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{5}};
  at(2).mcast(peers, {.place = {.peer = {}, .area = kArea, .offset = 56}, .local = unconst(data)}, tracker);
  EXPECT_EQ(finish(tracker), ErrorCode::ok);
  for (const auto memory : memories) EXPECT_EQ(std::memcmp(memory.data() + 56, data.data(), 200), 0);
  // One of them has no such area: the others have their data all the same.
  const auto other = pattern(200, 9);
  const std::vector<Rank> with_wrong{Rank{4}, Rank{0}, Rank{5}};
  Tracker partly;
  at(2).mcast(with_wrong, {.place = {.peer = {}, .area = kArea, .offset = 56}, .local = unconst(other)}, partly);
  EXPECT_EQ(finish(partly), ErrorCode::unknown_area);
  EXPECT_EQ(std::memcmp(memories.front().data() + 56, other.data(), 200), 0);
  EXPECT_EQ(std::memcmp(memories.back().data() + 56, other.data(), 200), 0);
}

TEST_P(OneSidedEngine, DoesAtomics) {
  build(2);
  const auto memory = *at(1).allocate(kArea, 60, Access::all());
  const auto word = [&memory](std::size_t offset, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, memory.data() + offset, bytes);
    return value;
  };
  const auto atomic = [this](std::uint32_t by, std::uint64_t offset, const Atomic& operation) {
    Tracker tracker;
    at(by).atomic({Rank{1}, kArea, offset}, operation, tracker);
    EXPECT_EQ(finish(tracker), ErrorCode::ok);
    return tracker.value();
  };
  for (const std::uint32_t by : {0U, 1U})
    for (const std::uint32_t bytes : {4U, 8U})
      for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{56} - bytes}) {
        std::memset(memory.data(), 0, memory.size());
        EXPECT_EQ(atomic(by, offset, Atomic::add(5, bytes)), 0U);
        EXPECT_EQ(atomic(by, offset, Atomic::add(0 - std::uint64_t{6}, bytes)), 5U);
        const std::uint64_t minus_one = bytes == 4 ? 0xffff'ffffULL : ~std::uint64_t{0};
        EXPECT_EQ(atomic(by, offset, Atomic::swap(0xf0f0, bytes)), minus_one);
        EXPECT_EQ(atomic(by, offset, Atomic::bit_and(0xff00, bytes)), 0xf0f0U);
        EXPECT_EQ(atomic(by, offset, Atomic::bit_or(0xf, bytes)), 0xf000U);
        EXPECT_EQ(atomic(by, offset, Atomic::bit_xor(0x1, bytes)), 0xf00fU);
        EXPECT_EQ(atomic(by, offset, Atomic::compare_and_swap(1, 2, bytes)), 0xf00eU);
        EXPECT_EQ(atomic(by, offset, Atomic::compare_and_swap(0xf00e, 3, bytes)), 0xf00eU);
        EXPECT_EQ(word(offset, bytes), 3U);
        std::uint64_t others = 0;
        for (const std::byte byte : memory) others += static_cast<std::uint64_t>(byte);
        EXPECT_EQ(others, 3U) << "a neighbour was touched";
      }
  Tracker wrong;
  at(0).atomic({Rank{1}, kArea, 4}, Atomic::add(1), wrong);
  EXPECT_EQ(finish(wrong), ErrorCode::bad_argument);
  Tracker odd;
  at(0).atomic({Rank{1}, kArea, 0}, Atomic::add(1, 2), odd);
  EXPECT_EQ(finish(odd), ErrorCode::bad_argument);
  Tracker unknown;
  at(0).atomic({Rank{1}, kArea, 0}, Atomic{Atomic::Kind(99), 1, 0, 8}, unknown);
  EXPECT_EQ(finish(unknown), ErrorCode::bad_argument);
  EXPECT_FALSE(at(0).atomic_now({Rank{1}, kArea, 0}, Atomic{Atomic::Kind(99), 1, 0, 8}));
  Tracker beyond;
  at(0).atomic({Rank{1}, kArea, 64}, Atomic::add(1), beyond);
  EXPECT_EQ(finish(beyond), ErrorCode::out_of_range);
}

TEST_P(OneSidedEngine, ALockIsNoMemoryAndMemoryNoLock) {
  build(3);
  ASSERT_TRUE(at(0).create_lock(kLock));
  const auto memory = *at(0).allocate(kArea, 4096, Access::all());
  const auto before = pattern(4096, 2);
  std::memcpy(memory.data(), before.data(), before.size());
  for (const bool held : {false, true})
    for (const std::uint32_t by : {1U, 0U}) { // by commands, and in direct memory
      SCOPED_TRACE(testing::Message() << "by " << by << (held ? ", held" : ", free"));
      if (held) {
        ASSERT_EQ(lock(by), ErrorCode::ok);
      }
      const auto data = pattern(64, 1);
      std::vector<std::byte> into = pattern(64, 3);
      EXPECT_EQ(push(by, {Rank{0}, kLock, 0}, data), ErrorCode::bad_argument);
      EXPECT_EQ(push(by, {Rank{0}, kLock, 0}, data, Selection::strided(4, 12, 5, 6)), ErrorCode::bad_argument);
      EXPECT_EQ(pull(by, {Rank{0}, kLock, 0}, into), ErrorCode::bad_argument);
      EXPECT_EQ(into, pattern(64, 3));
      EXPECT_FALSE(at(by).push_now({Rank{0}, kLock, 0}, data));
      EXPECT_FALSE(at(by).atomic_now({Rank{0}, kLock, 0}, Atomic::add(1)));
      EXPECT_FALSE(at(by).lock_now(Rank{0}, kArea));
      Tracker added;
      at(by).atomic({Rank{0}, kLock, 0}, Atomic::add(1), added);
      EXPECT_EQ(finish(added), ErrorCode::bad_argument);
      Tracker told;
      const std::vector<Rank> peers{Rank{0}, Rank{0}};
      at(by).mcast(peers, {.place = {.peer = {}, .area = kLock, .offset = 0}, .local = unconst(data)}, told);
      EXPECT_EQ(finish(told), ErrorCode::bad_argument);
      for (const auto take :
           {&onesided::OneSidedEngine::lock, &onesided::OneSidedEngine::try_lock, &onesided::OneSidedEngine::unlock}) {
        Tracker taken;
        (at(by).*take)(Rank{0}, kArea, taken);
        EXPECT_EQ(finish(taken), ErrorCode::bad_argument);
      }
      EXPECT_TRUE(std::ranges::equal(memory, before));
      if (held) {
        ASSERT_EQ(unlock(by), ErrorCode::ok);
      }
    }
  ASSERT_EQ(lock(2), ErrorCode::ok) << "the lock has changed";
  // An id is what it was opened as last.
  ASSERT_TRUE(at(0).close(kLock));
  ASSERT_TRUE(at(0).close(kArea));
  cluster->settle();
  ASSERT_TRUE(at(0).allocate(kLock, 64, Access::all()));
  ASSERT_TRUE(at(0).create_lock(kArea));
  EXPECT_EQ(push(1, {Rank{0}, kLock, 0}, pattern(64, 1)), ErrorCode::ok);
  EXPECT_EQ(push(1, {Rank{0}, kArea, 0}, pattern(64, 1)), ErrorCode::bad_argument);
}

TEST_P(OneSidedEngine, LocksInTheOrderOfComing) {
  build(5);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(1), ErrorCode::ok);
  std::array<Tracker, 5> trackers;
  for (const std::uint32_t rank : {3U, 0U, 4U, 2U}) {
    at(rank).lock(Rank{0}, kLock, trackers[rank]);
    for (int i = 0; i < 2000; ++i) cluster->progress();
    EXPECT_FALSE(trackers[rank].ended());
  }
  Tracker again;
  at(1).lock(Rank{0}, kLock, again);
  EXPECT_EQ(finish(again), ErrorCode::bad_argument);
  Tracker tried;
  at(3).try_lock(Rank{0}, kLock, tried);
  EXPECT_EQ(finish(tried), ErrorCode::bad_argument); // it waits already
  std::uint32_t holder = 1;
  for (const std::uint32_t rank : {3U, 0U, 4U, 2U}) {
    ASSERT_EQ(unlock(holder), ErrorCode::ok);
    ASSERT_EQ(finish(trackers[rank]), ErrorCode::ok);
    for (std::uint32_t other = 0; other < 5; ++other)
      if (trackers[other].ended() && other != rank && other != 1) holder = other;
    holder = rank;
  }
  ASSERT_EQ(unlock(holder), ErrorCode::ok);
  EXPECT_EQ(unlock(holder), ErrorCode::bad_argument);
}

TEST_P(OneSidedEngine, TriesALock) {
  build(3);
  ASSERT_TRUE(at(0).create_lock(kLock));
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(try_lock(2), ErrorCode::ok);
    EXPECT_EQ(try_lock(1), ErrorCode::lock_busy);
    EXPECT_EQ(try_lock(0), ErrorCode::lock_busy);
    ASSERT_EQ(unlock(2), ErrorCode::ok);
    ASSERT_EQ(try_lock(0), ErrorCode::ok);
    EXPECT_EQ(try_lock(2), ErrorCode::lock_busy);
    ASSERT_EQ(unlock(0), ErrorCode::ok);
  }
}

TEST_P(OneSidedEngine, ADeadHolderIsReportedAndTheLockGoesOn) {
  build(4);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(1), ErrorCode::ok);
  std::array<Tracker, 4> trackers;
  for (const std::uint32_t rank : {2U, 3U}) {
    at(rank).lock(Rank{0}, kLock, trackers[rank]);
    for (int i = 0; i < 2000; ++i) cluster->progress();
  }
  kill(1);
  EXPECT_EQ(finish(trackers[2]), ErrorCode::holder_died);
  EXPECT_FALSE(trackers[3].ended());
  ASSERT_EQ(unlock(2), ErrorCode::ok);
  EXPECT_EQ(finish(trackers[3]), ErrorCode::holder_died) << "it waited too";
  ASSERT_EQ(unlock(3), ErrorCode::ok);
  EXPECT_EQ(lock(2), ErrorCode::ok) << "it came later";
}

TEST_P(OneSidedEngine, ADeadHolderNobodyWaitedForIsReportedToTheNext) {
  build(3);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(1), ErrorCode::ok);
  kill(1);
  EXPECT_EQ(lock(2), ErrorCode::holder_died);
  ASSERT_EQ(unlock(2), ErrorCode::ok);
  EXPECT_EQ(lock(0), ErrorCode::ok);
}

// By commands, and by the home in direct memory.
TEST_P(OneSidedEngine, OneWhoTriesTakesTheLockOfADeadHolder) {
  for (const std::uint32_t by : {2U, 0U}) {
    build(4);
    ASSERT_TRUE(at(0).create_lock(kLock));
    ASSERT_EQ(lock(1), ErrorCode::ok);
    EXPECT_EQ(try_lock(by), ErrorCode::lock_busy);
    kill(1);
    EXPECT_EQ(try_lock(by), ErrorCode::holder_died);
    EXPECT_EQ(try_lock(3), ErrorCode::lock_busy) << "it has a living holder";
    ASSERT_EQ(unlock(by), ErrorCode::ok);
    EXPECT_EQ(try_lock(3), ErrorCode::ok) << "it came later";
    EXPECT_EQ(try_lock(by), ErrorCode::lock_busy);
    ASSERT_EQ(unlock(3), ErrorCode::ok);
    EXPECT_EQ(lock(by), ErrorCode::ok);
  }
}

TEST_P(OneSidedEngine, OneWhoTriesPassesOverADeadQueue) {
  for (const std::uint32_t by : {4U, 0U})
    for (const bool holder_dies : {false, true}) {
      SCOPED_TRACE(testing::Message() << "by " << by << (holder_dies ? ", the holder dies too" : ""));
      build(6);
      ASSERT_TRUE(at(0).create_lock(kLock));
      ASSERT_EQ(lock(1), ErrorCode::ok);
      std::array<Tracker, 6> trackers;
      for (const std::uint32_t rank : {2U, 3U}) {
        at(rank).lock(Rank{0}, kLock, trackers[rank]);
        for (int i = 0; i < 2000; ++i) cluster->progress();
      }
      kill(2);
      kill(3);
      EXPECT_EQ(try_lock(by), ErrorCode::lock_busy) << "it has a living holder";
      if (holder_dies) {
        kill(1);
      } else {
        ASSERT_EQ(unlock(1), ErrorCode::ok);
      }
      EXPECT_EQ(try_lock(by), holder_dies ? ErrorCode::holder_died : ErrorCode::ok);
      EXPECT_EQ(try_lock(5), ErrorCode::lock_busy);
      ASSERT_EQ(unlock(by), ErrorCode::ok);
      EXPECT_EQ(lock(5), ErrorCode::ok);
      cluster.reset(); // before the trackers
    }
}

// Those who wait come first, and are told.
TEST_P(OneSidedEngine, OneWhoTriesTakesNothingFromTheLiving) {
  build(5);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(1), ErrorCode::ok);
  Tracker waits;
  at(2).lock(Rank{0}, kLock, waits);
  for (int i = 0; i < 2000; ++i) cluster->progress();
  cluster->kill(1);
  (*cluster)[3].peer_failed(1); // it alone knows
  EXPECT_EQ(try_lock(3), ErrorCode::lock_busy);
  EXPECT_EQ(finish(waits), ErrorCode::holder_died);
  kill(1);
  EXPECT_EQ(try_lock(3), ErrorCode::lock_busy);
  ASSERT_EQ(unlock(2), ErrorCode::ok);
  EXPECT_EQ(try_lock(3), ErrorCode::ok);
}

TEST_P(OneSidedEngine, ADeadWaiterIsPassedOver) {
  build(5);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(4), ErrorCode::ok);
  std::array<Tracker, 5> trackers;
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    at(rank).lock(Rank{0}, kLock, trackers[rank]);
    for (int i = 0; i < 2000; ++i) cluster->progress();
  }
  kill(1);
  kill(2);
  ASSERT_EQ(unlock(4), ErrorCode::ok);
  EXPECT_EQ(finish(trackers[3]), ErrorCode::ok) << "no holder died";
}

TEST_P(OneSidedEngine, ADeadHomeEndsEveryWait) {
  build(4);
  ASSERT_TRUE(at(3).create_lock(kLock));
  ASSERT_EQ(lock(1, Rank{3}), ErrorCode::ok);
  Tracker waits;
  at(2).lock(Rank{3}, kLock, waits);
  for (int i = 0; i < 2000; ++i) cluster->progress();
  kill(3);
  EXPECT_EQ(finish(waits), ErrorCode::peer_failed);
  EXPECT_NE(unlock(1, Rank{3}), ErrorCode::ok);
}

TEST_P(OneSidedEngine, AClosedLockEndsEveryWait) {
  build(3);
  ASSERT_TRUE(at(0).create_lock(kLock));
  ASSERT_EQ(lock(1), ErrorCode::ok);
  Tracker waits;
  at(2).lock(Rank{0}, kLock, waits);
  for (int i = 0; i < 2000; ++i) cluster->progress();
  ASSERT_TRUE(at(0).close(kLock));
  EXPECT_EQ(finish(waits), ErrorCode::revoked_area);
  EXPECT_EQ(lock(2), ErrorCode::unknown_area);
}

// Processes lock or try to, and unlock; some die at any moment. Nobody is ever inside with another, all who are left get in, and a
// death inside is told to the next who comes in.
class LocksUnderDeaths : public OneSidedEngine {
 protected:
  // Whoever wants the lock tries it, so many times of ten, and otherwise waits for it.
  void run(std::uint64_t seed, unsigned tries_of_ten) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::mt19937_64 random(seed);
    constexpr std::uint32_t kSize = 6;
    cluster = std::make_unique<Cluster>(kSize, usual_limits(), GetParam().shape, seed);
    ASSERT_TRUE(at(0).create_lock(kLock));
    struct Process {
      enum { wants, waits, holds, leaves } state = wants;
      std::unique_ptr<Tracker> tracker;
      int entered = 0;
    };
    std::array<Process, kSize> processes;
    int inside = -1;
    int deaths = 0;
    bool to_be_told = false;
    for (int step = 0; step < 30'000; ++step) {
      const auto rank = static_cast<std::uint32_t>(random() % kSize);
      if (!cluster->alive(rank)) continue;
      cluster->progress(rank);
      if (deaths < 3 && rank != 0 && random() % 2000 == 0) {
        ++deaths;
        to_be_told = to_be_told || inside == static_cast<int>(rank);
        if (inside == static_cast<int>(rank)) inside = -1;
        cluster->kill(rank);
        continue;
      }
      for (std::uint32_t dead = 0; dead < kSize; ++dead) // told late, each at its own time
        if (!cluster->alive(dead) && random() % 20 == 0) (*cluster)[rank].peer_failed(dead);
      Process& process = processes[rank];
      if (process.state == Process::wants) {
        process.tracker = std::make_unique<Tracker>();
        if (random() % 10 < tries_of_ten)
          at(rank).try_lock(Rank{0}, kLock, *process.tracker);
        else
          at(rank).lock(Rank{0}, kLock, *process.tracker);
        process.state = Process::waits;
      } else if (process.state == Process::waits && process.tracker->ended()) {
        const ErrorCode code = process.tracker->code();
        if (code == ErrorCode::lock_busy && tries_of_ten > 0) {
          process.state = Process::wants;
          continue;
        }
        ASSERT_TRUE(code == ErrorCode::ok || code == ErrorCode::holder_died) << to_string(code);
        ASSERT_EQ(inside, -1) << "two hold it";
        ASSERT_TRUE(code == ErrorCode::holder_died || !to_be_told) << "nobody has heard of a holder's death";
        to_be_told = false;
        inside = static_cast<int>(rank);
        ++process.entered;
        process.state = Process::holds;
      } else if (process.state == Process::holds && random() % 10 == 0) {
        inside = -1;
        process.tracker = std::make_unique<Tracker>();
        at(rank).unlock(Rank{0}, kLock, *process.tracker);
        process.state = Process::leaves;
      } else if (process.state == Process::leaves && process.tracker->ended()) {
        ASSERT_EQ(process.tracker->code(), ErrorCode::ok);
        process.state = Process::wants;
      }
    }
    int fewest = 1 << 30;
    int most = 0;
    for (std::uint32_t rank = 0; rank < kSize; ++rank)
      if (cluster->alive(rank)) {
        fewest = std::min(fewest, processes[rank].entered);
        most = std::max(most, processes[rank].entered);
      }
    EXPECT_GT(fewest, 5) << "starved";
    if (tries_of_ten == 0) {
      EXPECT_LT(most, 3 * fewest);
    }
    cluster.reset(); // before the trackers
  }
};
INSTANTIATE_TEST_SUITE_P(Manners, LocksUnderDeaths, testing::ValuesIn(kManners),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(LocksUnderDeaths, WaitedFor) {
  for (const std::uint64_t seed : seeds(15)) run(seed, 0);
}

TEST_P(LocksUnderDeaths, WaitedForAndTried) {
  for (const std::uint64_t seed : seeds(10)) run(seed, 5);
}

TEST_P(LocksUnderDeaths, OnlyTried) {
  for (const std::uint64_t seed : seeds(10)) run(seed, 10);
}

} // namespace
} // namespace heddle::tests
