// All-to-all between engines in one thread, over a loopback network that may be slow, short of room, or lose a process.
#include "tests/traffic/exchange.hpp"
#include "collective/exchanges.hpp"
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <limits>

namespace heddle::tests {
namespace {

class Exchange : public testing::Test {
 protected:
  void populate(std::uint32_t size, std::uint32_t per_node, engine::Limits limits = usual_limits()) {
    exchanges_.clear();
    cluster_.emplace(size, limits);
    std::vector<std::uint32_t> node_of;
    for (std::uint32_t rank = 0; rank < size; ++rank) node_of.push_back(rank / per_node);
    for (std::uint32_t rank = 0; rank < size; ++rank)
      exchanges_.emplace_back((*cluster_)[rank], std::make_shared<collective::Grouping>(node_of));
  }
  Cluster& cluster() { return *cluster_; }
  collective::Exchanges& at(std::uint32_t rank) { return exchanges_[rank]; }
  void settle() {
    for (int quiet = 0; quiet < 300;) {
      std::size_t done = cluster().progress();
      for (std::uint32_t rank = 0; rank < cluster().size(); ++rank)
        if (cluster().alive(rank)) done += at(rank).progress();
      quiet = done == 0 ? quiet + 1 : 0;
    }
  }
  // A round by all; the outcome of each.
  std::vector<std::optional<Completion>> run(const ExchangeModel& model, std::uint64_t round) {
    std::deque<ExchangeRound> rounds;
    std::vector<Request> requests;
    for (std::uint32_t rank = 0; rank < model.size; ++rank) {
      rounds.emplace_back(model, round, rank);
      const auto request = rounds.back().start_by(at(rank));
      EXPECT_TRUE(request);
      requests.push_back(request.value_or(Request{}));
    }
    settle();
    std::vector<std::optional<Completion>> outcomes;
    for (std::uint32_t rank = 0; rank < model.size; ++rank) {
      outcomes.push_back(cluster()[rank].take_completion(requests[rank]));
      if (outcomes.back() && outcomes.back()->code == ErrorCode::ok) {
        EXPECT_EQ(rounds[rank].verdict(), "");
        EXPECT_EQ(outcomes.back()->bytes, rounds[rank].expected_bytes());
      }
    }
    return outcomes;
  }

  // A process dies after so many rounds of progress: every other one ends, whole or with an error.
  void die_after(std::uint64_t moment, std::uint32_t size, std::uint64_t largest) {
    SCOPED_TRACE(moment);
    populate(size, 2);
    const ExchangeModel model{.seed = moment + 1, .size = size, .largest = largest};
    const auto victim = static_cast<std::uint32_t>(moment % size);
    std::deque<ExchangeRound> rounds;
    std::vector<Request> requests;
    // One of them has heard of the death before it would have started.
    const std::uint32_t late = (victim + 1) % size;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      rounds.emplace_back(model, moment, rank);
      requests.push_back(rank == late && moment % 3 == 0 ? Request{} : *rounds.back().start_by(at(rank)));
    }
    for (std::uint64_t i = 0; i < moment; ++i) {
      cluster().progress();
      for (std::uint32_t rank = 0; rank < size; ++rank) at(rank).progress();
    }
    cluster().kill(victim);
    for (std::uint32_t rank = 0; rank < size; ++rank)
      if (rank != victim) cluster()[rank].peer_failed(victim);
    settle();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      if (rank == victim || requests[rank].name == 0) continue;
      const auto completion = cluster()[rank].take_completion(requests[rank]);
      ASSERT_TRUE(completion) << "rank " << rank << " still waits:\n" << cluster()[rank].waiting_for();
      if (completion->code == ErrorCode::ok) {
        EXPECT_EQ(rounds[rank].verdict(), "");
      } else {
        EXPECT_EQ(completion->code, ErrorCode::peer_failed);
      }
      // The next one ends at once.
      const auto next = rounds[rank].start_by(at(rank));
      EXPECT_EQ(cluster()[rank].take_completion(*next)->code, ErrorCode::peer_failed);
    }
  }

 private:
  std::optional<Cluster> cluster_;
  std::deque<collective::Exchanges> exchanges_;
};

TEST_F(Exchange, BringsEveryBlockToItsPlaceWhateverTheSizes) {
  for (const std::uint64_t seed : seeds(12)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    Dice dice(seed);
    const auto size = static_cast<std::uint32_t>(1 + dice.below(13));
    engine::Limits limits = usual_limits();
    if (dice.chance(50)) limits = {.eager_limit = 200, .ring_bytes = 1024, .ring_memory = 4096, .chunk_bytes = 4096};
    populate(size, static_cast<std::uint32_t>(1 + dice.below(4)), limits);
    for (std::uint64_t round = 0; round < 4; ++round)
      for (const auto& outcome : run({.seed = seed, .size = size, .largest = 1 + dice.below(60'000)}, round))
        EXPECT_TRUE(outcome && outcome->code == ErrorCode::ok);
  }
}

// As many and as small as Bruck's algorithm is for.
TEST_F(Exchange, BringsSmallBlocksOfManyProcessesToTheirPlaces) {
  for (const std::uint32_t size : {16U, 32U, 37U, 64U, 83U}) { // several radices, and last rounds that are not full
    ASSERT_TRUE(collective::bruck_pays(size, 16, {}));
    populate(size, 4);
    for (std::uint64_t round = 0; round < 4; ++round)
      for (const auto& outcome : run({.seed = size, .size = size, .largest = 16}, round))
        EXPECT_TRUE(outcome && outcome->code == ErrorCode::ok);
  }
}

TEST_F(Exchange, SeveralAtOnceKeepApart) {
  populate(5, 2);
  const ExchangeModel model{.seed = 3, .size = 5};
  std::deque<ExchangeRound> rounds;
  std::vector<std::pair<std::uint32_t, Request>> requests;
  for (std::uint32_t rank = 0; rank < 5; ++rank)
    for (std::uint64_t round = 0; round < 6; ++round)
      requests.emplace_back(rank, *rounds.emplace_back(model, round, rank).start_by(at(rank)));
  settle();
  for (const auto& [rank, request] : requests) {
    const auto completion = cluster()[rank].take_completion(request);
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->code, ErrorCode::ok);
  }
  for (const ExchangeRound& round : rounds) EXPECT_EQ(round.verdict(), "");
}

TEST_F(Exchange, RefusesWhatCannotBe) {
  populate(3, 1);
  std::vector<std::byte> memory(64);
  const std::span<const std::byte> out(memory.data(), 30);
  const std::span<std::byte> in(memory.data() + 32, 30);
  const auto code = [](const Result<Request>& result) { return result ? ErrorCode::ok : result.error().code; };
  EXPECT_EQ(code(at(0).start(out.first(29), in.first(29), {})), ErrorCode::bad_argument) << "no multiple of 3";
  EXPECT_EQ(code(at(0).start(out, in.first(27), {})), ErrorCode::bad_argument);
  const std::span<std::byte> nothing(static_cast<std::byte*>(nullptr), 30);
  EXPECT_EQ(code(at(0).start(out, nothing, {})), ErrorCode::bad_argument);
  EXPECT_EQ(code(at(0).start(nothing, in, {})), ErrorCode::bad_argument);
  EXPECT_EQ(code(at(0).start(out, std::span(memory).subspan(29, 30), {})), ErrorCode::bad_argument) << "overlap";
  const std::vector<std::uint64_t> ten{10, 10, 10};
  const std::vector<std::uint64_t> at_ten{0, 10, 20};
  const auto start = [&](std::vector<std::uint64_t> bytes, std::vector<std::uint64_t> offsets) {
    return code(at(0).start(ConstBlocks{out, bytes, offsets}, Blocks{in, ten, at_ten}, {}));
  };
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(start({10, 10}, at_ten), ErrorCode::bad_argument);
  EXPECT_EQ(start(ten, {0, 10}), ErrorCode::bad_argument);
  EXPECT_EQ(start({10, 10, 11}, at_ten), ErrorCode::bad_argument) << "ends outside";
  EXPECT_EQ(start({10, kHuge, 10}, at_ten), ErrorCode::bad_argument) << "the sum overflows";
  EXPECT_EQ(start(ten, {0, 10, kHuge}), ErrorCode::bad_argument);
  EXPECT_EQ(start({9, 10, 10}, at_ten), ErrorCode::bad_argument) << "the own block";
  EXPECT_EQ(code(at(0).start(ConstBlocks{out, {static_cast<std::uint64_t*>(nullptr), 3}, at_ten},
                             Blocks{in, ten, at_ten}, {})),
            ErrorCode::bad_argument);
  EXPECT_EQ(cluster().node(0).figure("operations under way"), 0U);
}

TEST_F(Exchange, RefusesMemoryThatCannotBe) {
  populate(1, 1);
  std::vector<std::byte> memory(64);
  const auto code = [](const Result<Request>& result) { return result ? ErrorCode::ok : result.error().code; };
  const std::vector<std::uint64_t> none{0};
  // Where the ends wrap, the two would seem to lie apart.
  for (const std::size_t huge : {std::numeric_limits<std::size_t>::max(), (std::size_t{1} << 62U) + 1,
                                 std::numeric_limits<std::size_t>::max() - 4096, std::size_t{1} << 63U})
    for (const std::size_t apart : {0U, 32U}) {
      SCOPED_TRACE(testing::Message() << huge << " bytes, " << apart << " apart");
      const std::span<const std::byte> out(memory.data(), huge);
      const std::span<std::byte> in(memory.data() + apart, huge);
      EXPECT_EQ(code(at(0).start(out, in, {})), ErrorCode::bad_argument);
      const std::vector<std::uint64_t> bytes{huge};
      EXPECT_EQ(code(at(0).start(ConstBlocks{out, bytes, none}, Blocks{in, bytes, none}, {})), ErrorCode::bad_argument);
    }
  EXPECT_EQ(cluster().node(0).figure("operations under way"), 0U);
}

TEST_F(Exchange, SaysWhenTwoDisagreeAboutABlock) {
  for (const bool longer : {false, true}) {
    populate(2, 1);
    std::vector<std::byte> memory(400);
    const auto blocks = [&](std::size_t begin, std::vector<std::uint64_t>& bytes, std::vector<std::uint64_t>& offsets) {
      return Blocks{std::span(memory).subspan(begin, 100), bytes, offsets};
    };
    std::vector<std::uint64_t> offsets{0, 50};
    std::vector<std::uint64_t> usual{8, 8};
    std::vector<std::uint64_t> other{longer ? 9U : 7U, 8};
    const Blocks out1 = blocks(200, other, offsets);
    const Blocks out0 = blocks(0, usual, offsets);
    const auto one = at(0).start(ConstBlocks{out0.memory, usual, offsets}, blocks(100, usual, offsets), {});
    const auto two = at(1).start(ConstBlocks{out1.memory, other, offsets}, blocks(300, usual, offsets), {});
    ASSERT_TRUE(one && two);
    settle();
    EXPECT_EQ(cluster()[0].take_completion(*one)->code, longer ? ErrorCode::truncated : ErrorCode::bad_argument);
    EXPECT_EQ(cluster()[1].take_completion(*two)->code, ErrorCode::ok);
  }
}

TEST_F(Exchange, EndsWithAnErrorWhenAProcessDiesInTheMiddle) {
  for (std::uint64_t moment = 0; moment < 40; ++moment) die_after(moment, 6, 200'000);
}

TEST_F(Exchange, EndsWithAnErrorWhenOneOfManyWithSmallBlocksDies) {
  for (std::uint64_t moment = 0; moment < 24; moment += 2) die_after(moment, 32, 16);
}

} // namespace
} // namespace heddle::tests
