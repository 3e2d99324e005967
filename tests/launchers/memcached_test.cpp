// A memcached as a board when things go wrong: real servers, which are ended, full, strangers' or not there.
#include "store/memcached.hpp"
#include "store/text_dial.hpp"
#include "store/text_line.hpp"
#include "tests/launchers/launchers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

namespace heddle::tests {
namespace {

using store::Bytes;
using store::Memcached;
using By = MemcachedServer::By;

base::Deadline soon(int seconds = 30) {
  return base::deadline_in(std::chrono::seconds(seconds));
}

class MemcachedBoard : public testing::TestWithParam<By> {
 protected:
  void SetUp() override {
    if (!missing({"memcached"}).empty()) GTEST_SKIP() << "memcached is not installed";
  }
  Memcached::Place place(const MemcachedServer& server, std::uint32_t rank, std::uint32_t size) const {
    return {.address = server.address(), .job = "job", .rank = rank, .size = size, .secret = secret_};
  }
  // A thread for each rank, which opens the board and acts.
  using Act = std::function<void(Memcached&)>;
  static void all(const std::vector<Memcached::Place>& places, const Act& act) {
    std::vector<std::jthread> threads;
    for (const auto& place : places)
      threads.emplace_back([&act, place] {
        auto board = Memcached::open(place, soon());
        ASSERT_TRUE(board) << board.error().message();
        act(**board);
      });
  }
  static void exchange(Memcached& board, std::uint32_t mark) {
    const Bytes value(100, static_cast<std::byte>(board.rank() + mark));
    ASSERT_TRUE(board.put("k" + std::to_string(board.rank()), value, soon()));
    const auto met = board.fence(soon());
    ASSERT_TRUE(met) << met.error().message();
    for (std::uint32_t rank = 0; rank < board.size(); ++rank) {
      const auto got = board.get("k" + std::to_string(rank), soon());
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(*got, Bytes(100, static_cast<std::byte>(rank + mark)));
    }
    ASSERT_TRUE(board.fence(soon()));
  }
  const auth::Secret secret_ = auth::Secret::draw();
};

TEST_P(MemcachedBoard, IsNotMisledByAnOlderJobOfTheSameName) {
  const MemcachedServer server(GetParam());
  for (std::uint32_t time = 0; time < 3; ++time)
    all({place(server, 0, 3), place(server, 1, 3), place(server, 2, 3)},
        [&](Memcached& board) { exchange(board, 10 * time); });
  // One that never became whole has left its marks, too. Its server has answered, and that is not what is late.
  for (const std::uint32_t rank : {1U, 0U}) {
    const auto lonely = Memcached::open(place(server, rank, 3), soon(1));
    ASSERT_FALSE(lonely);
    EXPECT_EQ(lonely.error().code, ErrorCode::timed_out);
    EXPECT_TRUE(
        lonely.error().fact.starts_with(rank == 1 ? "rank 0 did not come to memcached at " : "not every rank came "))
        << lonely.error().fact;
  }
  all({place(server, 0, 3), place(server, 1, 3), place(server, 2, 3)}, [&](Memcached& board) { exchange(board, 99); });
}

// As it is where each run of a script draws one.
TEST_P(MemcachedBoard, IsNotMisledByAnOlderJobOfTheSameNameAndAnotherSecret) {
  const MemcachedServer server(GetParam());
  std::vector<Memcached::Place> places{place(server, 0, 3), place(server, 1, 3), place(server, 2, 3)};
  for (std::uint32_t time = 0; time < 3; ++time) {
    all(places, [&](Memcached& board) { exchange(board, 10 * time); });
    const auth::Secret next = auth::Secret::draw();
    for (Memcached::Place& each : places) each.secret = next;
  }
}

TEST_P(MemcachedBoard, ServesTwoJobsAtOnce) {
  const MemcachedServer server(GetParam());
  for (const bool same_name : {false, true}) {
    std::vector<Memcached::Place> places;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      places.push_back(place(server, rank, 3));
      places.push_back(place(server, rank, 3));
      if (!same_name) places.back().job = "other";
      places.back().secret = auth::Secret{{std::byte{7}}};
    }
    all(places, [&](Memcached& board) { exchange(board, 1); });
  }
}

TEST_P(MemcachedBoard, LetsNobodyMeetWhoHasAnotherSecret) {
  const MemcachedServer server(GetParam());
  Memcached::Place other = place(server, 0, 2);
  other.secret = auth::Secret::draw();
  std::jthread leads([&] { EXPECT_FALSE(Memcached::open(other, soon(1))); });
  const auto board = Memcached::open(place(server, 1, 2), soon(1));
  ASSERT_FALSE(board);
  EXPECT_EQ(board.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(board.error().remedy.contains("HEDDLE_SECRET are to be the same in all processes"))
      << board.error().remedy;
}

TEST_P(MemcachedBoard, ComesBackToAServerThatWasLost) {
  MemcachedServer server(GetParam());
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 1; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      auto board = Memcached::open(place(server, rank, 3), soon());
      ASSERT_TRUE(board) << board.error().message();
      exchange(**board, 5);
    });
  // Both wait for rank 0 when their server goes, with all that they had left there.
  auto early = Memcached::open(place(server, 0, 4), soon(1)); // of another size: it finds nobody, and is gone
  EXPECT_FALSE(early);
  server.stop();
  server.start();
  threads.emplace_back([&] {
    auto board = Memcached::open(place(server, 0, 3), soon());
    ASSERT_TRUE(board) << board.error().message();
    exchange(**board, 5);
  });
}

TEST_P(MemcachedBoard, SaysThatAServerIsLostAndDoesNotReturn) {
  MemcachedServer server(GetParam());
  auto board = Memcached::open(place(server, 0, 1), soon());
  ASSERT_TRUE(board) << board.error().message();
  server.stop();
  const auto put = (*board)->put("k", {}, soon(1));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::store_failed);
  const auto fence = (*board)->fence(soon(1));
  EXPECT_FALSE(fence);
}

TEST_P(MemcachedBoard, SaysWhereNobodyListens) {
  MemcachedServer server(GetParam());
  server.stop();
  const auto board = Memcached::open(place(server, 0, 2), soon());
  ASSERT_FALSE(board);
  EXPECT_EQ(board.error().code, ErrorCode::store_failed);
  EXPECT_TRUE(board.error().fact.contains("memcached at " + server.address())) << board.error().fact;
}

TEST_P(MemcachedBoard, SaysThatAServerIsFull) {
  const MemcachedServer server(GetParam(), {"-m", "4", "-M"});
  auto board = Memcached::open(place(server, 0, 1), soon());
  ASSERT_TRUE(board) << board.error().message();
  const Bytes value(store::kLargestNote, std::byte{1});
  Result<void> put;
  for (int i = 0; put && i < 100'000; ++i) put = (*board)->put("k" + std::to_string(i), value, soon());
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::store_failed);
  EXPECT_TRUE(put.error().fact.contains("SERVER_ERROR")) << put.error().fact;
}

// Who puts and gets there without a secret.
class Stranger {
 public:
  explicit Stranger(const std::string& address)
      : socket_(store::dial_text(address, soon()).value()), talk_(socket_.number(), "memcached") {}
  std::string get(const std::string& key) {
    EXPECT_TRUE(talk_.say("get " + key + "\r\n", soon()));
    std::string value = talk_.line("\r\n", soon()).value();
    if (value == "END") return "";
    value = talk_.line("\r\n", soon()).value();
    EXPECT_EQ(talk_.line("\r\n", soon()).value(), "END");
    return value;
  }
  void put(const std::string& key, const std::string& value) {
    EXPECT_TRUE(talk_.say("set " + key + " 0 600 " + std::to_string(value.size()) + "\r\n" + value + "\r\n", soon()));
    EXPECT_EQ(talk_.line("\r\n", soon()).value(), "STORED");
  }
  // What the server has counted.
  std::uint64_t count(const std::string& what) {
    EXPECT_TRUE(talk_.say("stats\r\n", soon()));
    std::uint64_t found = 0;
    for (std::string line; (line = talk_.line("\r\n", soon()).value()) != "END";)
      if (line.starts_with("STAT " + what + " ")) found = std::stoull(line.substr(6 + what.size()));
    return found;
  }
  // How many seconds a key has left.
  int seconds_left(const std::string& key) {
    EXPECT_TRUE(talk_.say("mg " + key + " t\r\n", soon()));
    const std::string answer = talk_.line("\r\n", soon()).value();
    EXPECT_TRUE(answer.starts_with("HD t")) << answer;
    return std::atoi(answer.substr(std::min<std::size_t>(answer.size(), 4)).c_str());
  }

 private:
  base::Descriptor socket_;
  store::TextLine talk_;
};

// Characters of what each rank leaves, and of what rank 0 answers: its own number, that one, and the job's size.
constexpr std::size_t kNumber = 16;
constexpr std::size_t kAnswer = 2 * kNumber + 5;

TEST_P(MemcachedBoard, BelievesNothingThatIsNotSigned) {
  const MemcachedServer server(GetParam());
  const std::string prefix = Memcached::prefix_of(place(server, 1, 2));
  Stranger(server.address()).put(prefix + "time.1", std::string(200, 'x'));
  const auto board = Memcached::open(place(server, 1, 2), soon());
  ASSERT_FALSE(board);
  EXPECT_TRUE(board.error().fact.contains("not signed with this job's secret")) << board.error().fact;
}

TEST_P(MemcachedBoard, KeepsNothingForLong) {
  const MemcachedServer server(GetParam());
  all({place(server, 0, 2), place(server, 1, 2)}, [&](Memcached& board) { exchange(board, 1); });
  Stranger stranger(server.address());
  const std::string prefix = Memcached::prefix_of(place(server, 0, 2));
  const std::string answer = stranger.get(prefix + "time.1");
  ASSERT_GT(answer.size(), kAnswer);
  const std::string time = answer.substr(answer.size() - kAnswer, kNumber);
  for (const std::string& key : {std::string("here.1"), std::string("time.1"), "come." + time, time + ":fence.1",
                                 time + ":fence.2", time + ":heddle.k0.0", time + ":heddle.k1.0"}) {
    EXPECT_GT(stranger.seconds_left(prefix + key), 0) << key; // -1: for ever
    EXPECT_LE(stranger.seconds_left(prefix + key), 600) << key;
  }
}

TEST_P(MemcachedBoard, ReadsNothingThatIsLeftOfAnAnswerItHasNotBelieved) {
  const MemcachedServer server(GetParam());
  const std::string prefix = Memcached::prefix_of(place(server, 0, 2));
  all({place(server, 0, 2), place(server, 1, 2)}, [&](Memcached& board) {
    if (board.rank() != 0) return;
    Stranger stranger(server.address());
    const std::string answer = stranger.get(prefix + "time.1");
    ASSERT_GT(answer.size(), kAnswer);
    const std::string time = answer.substr(answer.size() - kAnswer, kNumber);
    stranger.put(prefix + time + ":heddle.note.0", std::string(200, 'x'));
    const auto got = board.get("note", soon());
    ASSERT_FALSE(got);
    EXPECT_TRUE(got.error().fact.contains("not signed with this job's secret")) << got.error().fact;
    const auto put = board.put("other", {}, soon());
    ASSERT_FALSE(put);
    EXPECT_TRUE(put.error().fact.contains("is not connected any more")) << put.error().fact; // not what was left: "END"
  });
}

TEST_P(MemcachedBoard, TellsEachRankNoMoreInALargeJob) {
  const MemcachedServer server(GetParam());
  const auto told_in_job_of = [&](std::uint32_t size) {
    std::vector<Memcached::Place> places;
    for (std::uint32_t rank = 0; rank < size; ++rank) places.push_back(place(server, rank, size));
    all(places, [](Memcached&) {});
    return Stranger(server.address()).get(Memcached::prefix_of(places.front()) + "time.1").size();
  };
  const std::size_t of_two = told_in_job_of(2);
  EXPECT_GT(of_two, kAnswer);
  EXPECT_EQ(told_in_job_of(24), of_two);
}

// Beside looks, whose number is that of the time that they wait.
TEST_P(MemcachedBoard, IsToldLittleByEach) {
  constexpr std::uint64_t kSize = 9;
  const MemcachedServer server(GetParam());
  std::vector<Memcached::Place> places;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) places.push_back(place(server, rank, kSize));
  all(places, [](Memcached& board) { // as processes meet
    if (board.rank() == 0) {
      ASSERT_TRUE(board.put("note", Bytes(1), soon()));
    }
    ASSERT_TRUE(board.fence(soon()));
    if (board.rank() != 0) {
      ASSERT_TRUE(board.get("note", soon()));
    }
  });
  Stranger stranger(server.address());
  // Numbers, answers of rank 0, the note.
  EXPECT_EQ(stranger.count("cmd_set"), (kSize - 1) + (kSize - 1) + 1);
  // Of those who have found themselves, and come to the fence; who comes first makes the number.
  EXPECT_EQ(stranger.count("incr_hits"), (kSize - 1) - 1 + kSize - 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, MemcachedBoard, testing::Values(By::socket, By::tcp),
                         [](const auto& of) { return of.param == By::socket ? "Socket" : "Tcp"; });

} // namespace
} // namespace heddle::tests
