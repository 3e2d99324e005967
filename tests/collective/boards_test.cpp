// All-to-all on boards, between engines in one thread over real shared memory, progressed in any order.
#include "collective/boards.hpp"
#include "base/flight_recorder.hpp"
#include "collective/exchanges.hpp"
#include "engine/schedule_queue.hpp"
#include "tests/engine/cluster.hpp"
#include "tests/traffic/exchange.hpp"
#include "translators/decorator.hpp"
#include "translators/shm/shm.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace heddle::tests {
namespace {

// One whose peers' memory is not plain memory of its own.
class Distant final : public translators::Decorator {
 public:
  using Decorator::Decorator;
};

// One that has a board, and can map nobody else's.
class Blind final : public translators::Decorator, ir::DirectMemory {
 public:
  using Decorator::Decorator;
  [[nodiscard]] ir::Facets facets() override {
    ir::Facets facets = Decorator::facets();
    facets.direct_memory = this;
    return facets;
  }

 private:
  ir::DirectRing direct_ring(ir::Peer, const ir::RemotePlace&, std::uint64_t) override { return {}; }
  ir::DirectArea direct_area(ir::Peer, const ir::RemotePlace&, std::uint64_t) override { return {}; }
  void leave_area(ir::Peer, const ir::RemotePlace&) override {}
  void wake(ir::Peer) override {}
};

struct Process {
  std::unique_ptr<translators::Shm> shm;
  std::unique_ptr<ir::Translator> over; // over it, where there is one
  base::FlightRecorder recorder{64};
  std::unique_ptr<engine::ScheduleQueue> queue;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<collective::Exchanges> exchanges;
};

class Boards : public testing::Test {
 protected:
  static constexpr std::uint32_t kNone = ~0U;

  static constexpr std::uint64_t kLarge = 256 << 10; // read from where they lie

  // `distant` of them cannot read boards, `closed` no memory beside them; `blind` can neither, and nobody sees it.
  void populate(std::uint32_t size, std::uint32_t distant = kNone, std::uint32_t closed = kNone,
                std::uint32_t blind = kNone) {
    processes_.clear();
    std::vector<engine::Contact> contacts;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      Process& process = processes_.emplace_back();
      process.shm = std::move(*translators::Shm::create(
          {.rank = rank,
           .size = size,
           .ring_memory = 4U << 20U,
           .cross_memory = rank == closed ? translators::CrossMemory::off : translators::CrossMemory::automatic}));
      if (rank == distant) process.over = std::make_unique<Distant>(*process.shm);
      if (rank == blind) process.over = std::make_unique<Blind>(*process.shm);
      process.queue = std::make_unique<engine::ScheduleQueue>(
          process.over ? *process.over : static_cast<ir::Translator&>(*process.shm));
      engine::ScheduleQueue* queue = process.queue.get();
      process.engine = std::move(*engine::Engine::create(rank, size, usual_limits(), {&queue, 1}, process.recorder));
      contacts.push_back({.address = process.shm->address()});
    }
    const auto grouping = std::make_shared<collective::Grouping>(std::vector<std::uint32_t>(size, 0));
    for (Process& process : processes_) {
      process.engine->set_contacts(contacts);
      process.exchanges = std::make_unique<collective::Exchanges>(*process.engine, grouping);
      process.exchanges->use_boards();
    }
  }
  Process& at(std::uint32_t rank) { return processes_[rank]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(processes_.size()); }

  std::size_t progress(std::uint32_t rank) {
    return processes_[rank].engine ? processes_[rank].engine->progress() + processes_[rank].exchanges->progress() : 0;
  }
  void settle() {
    for (int quiet = 0; quiet < 300;) {
      std::size_t done = 0;
      for (std::uint32_t rank = 0; rank < size(); ++rank) done += progress(rank);
      quiet = done == 0 ? quiet + 1 : 0;
    }
  }
  // All send the same, each into memory of its own.
  std::vector<Request> start_by_all(const std::vector<std::byte>& out, std::deque<std::vector<std::byte>>& in) {
    std::vector<Request> requests;
    for (Process& process : processes_)
      requests.push_back(*process.exchanges->start(out, in.emplace_back(out.size()), {}));
    return requests;
  }
  std::optional<ErrorCode> outcome(std::uint32_t rank, Request request) {
    const auto completion = at(rank).engine->take_completion(request);
    if (!completion) return std::nullopt;
    return completion->code;
  }
  // One of blocks of so many bytes, by all. Returns whether it was by messages: rank 0 has receives under way then, beside the exchange.
  bool exchange_by_messages(std::uint64_t bytes) {
    const std::vector<std::byte> out(size() * bytes, std::byte{7});
    std::deque<std::vector<std::byte>> in;
    std::vector<Request> requests;
    std::uint64_t under_way = 0;
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      requests.push_back(*at(rank).exchanges->start(out, in.emplace_back(out.size()), {}));
      if (rank > 0) continue;
      for (const auto& figure : at(0).engine->figures())
        if (figure.name == "operations under way") under_way = figure.value;
    }
    settle();
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      EXPECT_EQ(outcome(rank, requests[rank]), ErrorCode::ok);
      EXPECT_EQ(in[rank], out);
    }
    EXPECT_GT(under_way, 0U);
    return under_way > 1;
  }

  std::deque<Process> processes_;
};

TEST_F(Boards, CarryBlocksOfAnySizeInAnyOrderOfProgress) {
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    Dice dice(seed);
    populate(static_cast<std::uint32_t>(2 + dice.below(6)));
    const std::uint64_t largest = dice.chance(10) ? 700'000 : dice.chance(50) ? 100 : 5000;
    const ExchangeModel model{.seed = seed, .size = size(), .largest = 1 + dice.below(largest)};
    struct Started {
      std::uint32_t rank;
      Request request;
      ExchangeRound round;
    };
    std::deque<Started> all;
    std::vector<std::uint64_t> next(size(), 0);
    const std::uint64_t rounds = model.largest > 5000 ? 6 : 30;
    std::uint64_t left = rounds * size();
    while (left > 0) {
      const auto rank = static_cast<std::uint32_t>(dice.below(size()));
      if (next[rank] < rounds && dice.chance(40)) {
        Started& started = all.emplace_back(rank, Request{}, ExchangeRound(model, next[rank]++, rank));
        started.request = *started.round.start_by(*at(rank).exchanges);
        --left;
      } else {
        progress(rank);
      }
    }
    settle();
    for (Started& started : all) {
      const auto completion = at(started.rank).engine->take_completion(started.request);
      ASSERT_TRUE(completion) << at(started.rank).engine->waiting_for();
      EXPECT_EQ(completion->code, ErrorCode::ok);
      EXPECT_EQ(completion->bytes, started.round.expected_bytes());
      EXPECT_EQ(started.round.verdict(), "");
    }
  }
}

TEST_F(Boards, NeedNoMessagesOnceAllHaveMet) {
  populate(3);
  EXPECT_TRUE(exchange_by_messages(8)) << "they meet by messages";
  for (const std::uint64_t bytes : std::initializer_list<std::uint64_t>{8, 1, 48, 49, 4096, kLarge, 3 * kLarge + 5})
    EXPECT_FALSE(exchange_by_messages(bytes));
  EXPECT_TRUE(exchange_by_messages(5000));
}

TEST_F(Boards, AreForSmallBlocksAloneWhereOneCannotReadTheOthersMemory) {
  populate(3, kNone, 1);
  EXPECT_TRUE(exchange_by_messages(kLarge)) << "they meet by messages";
  EXPECT_TRUE(exchange_by_messages(kLarge));
  EXPECT_FALSE(exchange_by_messages(8));
}

// Who is slow to read keeps the others from going on, and nobody else.
TEST_F(Boards, KeepLargeBlocksUntilAllHaveReadThem) {
  populate(3);
  exchange_by_messages(8);
  const std::vector<std::byte> out(3 * kLarge, std::byte{9});
  std::deque<std::vector<std::byte>> in;
  const std::vector<Request> requests = start_by_all(out, in);
  for (int i = 0; i < 100; ++i)
    for (const std::uint32_t rank : {0U, 1U}) progress(rank);
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(in[rank], out);
    EXPECT_EQ(outcome(rank, requests[rank]), std::nullopt);
  }
  settle();
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(outcome(rank, requests[rank]), ErrorCode::ok);
  EXPECT_EQ(in[2], out);
}

TEST_F(Boards, EndALargeExchangeWithWhatBecameOfOneThatLeftBeforeAllHadRead) {
  populate(3);
  exchange_by_messages(8);
  const std::vector<std::byte> out(3 * kLarge, std::byte{9});
  std::deque<std::vector<std::byte>> in;
  const std::vector<Request> requests = start_by_all(out, in);
  processes_[2].exchanges.reset();
  processes_[2].engine.reset();
  processes_[2].shm.reset();
  for (const std::uint32_t rank : {0U, 1U}) at(rank).engine->peer_left(2);
  settle();
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(outcome(rank, requests[rank]), ErrorCode::peer_left);
}

TEST_F(Boards, AreLeftByAllWhereOneCannotReadThem) {
  for (const std::uint32_t distant : {0U, 1U, 3U}) {
    populate(4, distant);
    // Several, started before anybody knows.
    const ExchangeModel model{.seed = distant + 1, .size = 4, .largest = 300};
    std::deque<ExchangeRound> rounds;
    std::vector<std::pair<std::uint32_t, Request>> requests;
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      for (std::uint64_t round = 0; round < 6; ++round)
        requests.emplace_back(rank, *rounds.emplace_back(model, round, rank).start_by(*at(rank).exchanges));
    settle();
    for (const auto& [rank, request] : requests) EXPECT_EQ(outcome(rank, request), ErrorCode::ok);
    for (const ExchangeRound& round : rounds) EXPECT_EQ(round.verdict(), "");
    EXPECT_TRUE(exchange_by_messages(8));
  }
}

TEST_F(Boards, AreLeftByAllWhereOneHasNoMemoryForIts) {
  populate(3);
  exchange_by_messages(5000); // all have their rings
  while (at(2).shm->allocate(1 << 10)) {
  }
  exchange_by_messages(8);
  EXPECT_TRUE(exchange_by_messages(8));
}

TEST_F(Boards, SayWhenTwoDisagreeAboutABlock) {
  populate(2);
  exchange_by_messages(8);
  const std::vector<std::byte> out(200);
  std::vector<std::byte> in(200);
  std::vector<std::byte> in_longer(200);
  const Request shorter = *at(0).exchanges->start(std::span(out).first(16), std::span(in).first(16), {});
  const Request longer = *at(1).exchanges->start(out, in_longer, {});
  settle();
  EXPECT_EQ(outcome(0, shorter), ErrorCode::truncated);
  EXPECT_EQ(outcome(1, longer), ErrorCode::bad_argument);

  const std::vector<std::byte> much(2 * kLarge + 16);
  std::vector<std::byte> in_much(much.size());
  const Request small = *at(0).exchanges->start(std::span(out).first(16), std::span(in).first(16), {});
  const Request large = *at(1).exchanges->start(much, in_much, {});
  settle();
  EXPECT_EQ(outcome(0, small), ErrorCode::truncated);
  EXPECT_EQ(outcome(1, large), ErrorCode::bad_argument);
}

TEST_F(Boards, GiveWhatAProcessHasWrittenBeforeItLeft) {
  populate(3);
  exchange_by_messages(8);
  const std::vector<std::byte> out(24, std::byte{9});
  std::deque<std::vector<std::byte>> in;
  const std::vector<Request> requests = start_by_all(out, in);
  // Rank 2 has read all; the others have not looked yet when they hear that it has left.
  progress(2);
  EXPECT_EQ(outcome(2, requests[2]), ErrorCode::ok);
  for (const std::uint32_t rank : {0U, 1U}) at(rank).engine->peer_left(2);
  processes_[2].exchanges.reset();
  processes_[2].engine.reset();
  processes_[2].shm.reset();
  settle();
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(outcome(rank, requests[rank]), ErrorCode::ok);
    EXPECT_EQ(in[rank], out);
  }
  // The next one cannot be whole.
  std::vector<Request> next;
  for (const std::uint32_t rank : {0U, 1U}) next.push_back(*at(rank).exchanges->start(out, in[rank], {}));
  settle();
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(outcome(rank, next[rank]), ErrorCode::peer_left);
}

TEST_F(Boards, EndWithWhatBecameOfAProcessThatNeverCame) {
  populate(3);
  exchange_by_messages(8);
  const std::vector<std::byte> out(24, std::byte{9});
  std::deque<std::vector<std::byte>> in;
  std::vector<Request> requests;
  for (const std::uint32_t rank : {0U, 1U})
    requests.push_back(*at(rank).exchanges->start(out, in.emplace_back(24), {}));
  settle();
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(outcome(rank, requests[rank]), std::nullopt);
    at(rank).engine->peer_left(2);
  }
  settle();
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(outcome(rank, requests[rank]), ErrorCode::peer_left);
}

TEST_F(Boards, OneThatLeavesAtAnyMomentIsNotLookedAtAnyMore) {
  for (std::uint64_t moment = 0; moment < 120; moment += kSlowdown) {
    SCOPED_TRACE(moment);
    populate(3);
    const std::vector<std::byte> out(moment % 2 == 0 ? 24 : 3 * kLarge, std::byte{9});
    std::deque<std::vector<std::byte>> in;
    const std::vector<Request> requests = start_by_all(out, in);
    Dice dice(moment);
    for (std::uint64_t i = 0; i < moment; ++i) progress(static_cast<std::uint32_t>(dice.below(3)));
    for (const std::uint32_t rank : {0U, 1U}) at(rank).engine->peer_left(2);
    processes_[2].exchanges.reset();
    processes_[2].engine.reset();
    processes_[2].shm.reset();
    settle();
    for (const std::uint32_t rank : {0U, 1U}) {
      const auto code = outcome(rank, requests[rank]);
      ASSERT_TRUE(code) << "rank " << rank << " still waits:\n" << at(rank).engine->waiting_for();
      if (*code == ErrorCode::ok) {
        EXPECT_EQ(in[rank], out);
      } else {
        EXPECT_EQ(*code, ErrorCode::peer_left);
      }
    }
  }
}

// One that cannot read boards says so to all before it leaves: those who have heard it go on by messages, and the others would wait for
// them at their boards.
TEST_F(Boards, AreLeftByAllAlsoWhereTheOneThatCannotReadThemLeaves) {
  constexpr std::uint32_t kBlind = 3;
  populate(4, kNone, kNone, kBlind);
  exchange_by_messages(5000); // all are connected
  const std::vector<std::byte> out(32, std::byte{9});
  std::deque<std::vector<std::byte>> in;
  const std::vector<Request> requests = start_by_all(out, in);
  const auto some_progress = [&](std::initializer_list<std::uint32_t> ranks) {
    for (int i = 0; i < 50; ++i)
      for (const std::uint32_t rank : ranks) progress(rank);
  };
  some_progress({0, 1, 2}); // these can read all boards
  // Rank 2 is slow to read what comes, so that there is no room for a word more.
  const std::vector<std::byte> data(1000);
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(at(kBlind).engine->send({.to = Rank{2}, .tag = Tag{1}}, ConstLayout(data.data(), data.size())));
  some_progress({kBlind, 0, 1});
  // As a context does before it goes.
  for (int left = 1000; left > 0 && at(kBlind).exchanges->owes_words(); --left) some_progress({2, kBlind});
  processes_[kBlind].exchanges.reset();
  processes_[kBlind].engine.reset();
  processes_[kBlind].shm.reset();
  for (const std::uint32_t rank : {0U, 1U, 2U}) at(rank).engine->peer_left(kBlind);
  settle();
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const auto code = outcome(rank, requests[rank]);
    ASSERT_TRUE(code) << "rank " << rank << " still waits:\n" << at(rank).engine->waiting_for();
    EXPECT_TRUE(*code == ErrorCode::ok || *code == ErrorCode::peer_left) << "its block may have come by message";
  }
}

TEST_F(Boards, ADeathAtAnyMomentEndsWhatIsUnderWayAndAllToCome) {
  for (std::uint64_t moment = 0; moment < 60; moment += kSlowdown) {
    SCOPED_TRACE(moment);
    populate(4);
    const ExchangeModel model{.seed = moment + 1, .size = 4, .largest = moment % 3 == 0 ? 600'000U : 200U};
    std::deque<ExchangeRound> rounds;
    std::vector<std::pair<std::uint32_t, Request>> requests;
    Dice dice(moment);
    const auto victim = static_cast<std::uint32_t>(dice.below(4));
    for (std::uint64_t i = 0; i < moment; ++i) {
      const auto rank = static_cast<std::uint32_t>(dice.below(4));
      if (i < 12 && i % 4 == 0)
        for (std::uint32_t each = 0; each < 4; ++each)
          requests.emplace_back(each, *rounds.emplace_back(model, i / 2, each).start_by(*at(each).exchanges));
      progress(rank);
    }
    processes_[victim].exchanges.reset();
    processes_[victim].engine.reset();
    processes_[victim].shm.reset();
    for (std::uint32_t rank = 0; rank < 4; ++rank)
      if (rank != victim) at(rank).engine->peer_failed(victim);
    settle();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& [rank, request] = requests[i];
      if (rank == victim) continue;
      const auto code = outcome(rank, request);
      ASSERT_TRUE(code) << "rank " << rank << " still waits:\n" << at(rank).engine->waiting_for();
      if (*code == ErrorCode::ok) {
        EXPECT_EQ(rounds[i].verdict(), "");
      } else {
        EXPECT_EQ(*code, ErrorCode::peer_failed);
      }
    }
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      ExchangeRound next(model, 2, rank);
      EXPECT_EQ(outcome(rank, *next.start_by(*at(rank).exchanges)), ErrorCode::peer_failed);
    }
  }
}

} // namespace
} // namespace heddle::tests
