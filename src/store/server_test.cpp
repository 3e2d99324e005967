#include "store/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <thread>

#include "store/address.hpp"
#include "store/client.hpp"
#include "store/dial.hpp"

namespace heddle::store {
namespace {

using std::chrono::seconds;

base::Deadline soon() {
  return base::deadline_in(seconds(60));
}
std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A server in a thread of its own, as it would be in the launcher's process.
class ServerTest : public testing::TestWithParam<const char*> {
 protected:
  void start(std::uint32_t size) {
    job_ = new_job_id();
    auto server = Server::start(
        {.size = size,
         .job = job_,
         .by_tcp = by_tcp() ? std::optional(Server::Config::ByTcp{.host = host(), .secret = secret_}) : std::nullopt,
         .log = base::Log(LogLevel::debug, kNoPeer, [this](auto line) {
           const std::lock_guard lock(log_mutex_);
           log_.append(line);
         })});
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    size_ = size;
    stop_ = base::Descriptor(::eventfd(0, EFD_CLOEXEC));
    thread_ = std::jthread([this] {
      pollfd entries[2] = {{server_->descriptor(), POLLIN, 0}, {stop_.number(), POLLIN, 0}};
      while (::poll(entries, 2, -1) > 0 && entries[1].revents == 0) server_->serve();
    });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.number(), 1);
    thread_.join();
  }
  std::unique_ptr<Client> join(std::uint32_t rank) {
    auto client = Client::connect(
        {.address = server_->address(), .job = job_, .rank = rank, .size = size_, .secret = secret_}, soon());
    EXPECT_TRUE(client) << client.error().message();
    return client ? std::move(*client) : nullptr;
  }
  // Asks again until a notice is there: the server answers in its own time.
  static std::uint32_t wait_notice(Client& client) {
    Notice notice{.rank = 99};
    while (true) {
      const auto count = client.take_notices({&notice, 1});
      if (!count || *count == 1) return notice.rank;
      std::this_thread::yield();
    }
  }
  // A socket that says whatever bytes it is given.
  base::Descriptor raw() {
    auto socket = dial(server_->address(), secret_, soon());
    EXPECT_TRUE(socket) << socket.error().message();
    return std::move(*socket);
  }
  void SetUp() override {
    net::Endpoint place{.host = host()};
    if (!net::listen_at(place)) GTEST_SKIP() << "the system has no IPv6";
  }
  static bool by_tcp() { return std::string_view(GetParam()) != "unix"; }
  static in6_addr host() { return std::string_view(GetParam()) == "tcp6" ? in6addr_loopback : net::loopback(); }

  const auth::Secret secret_ = auth::Secret::draw();
  std::string job_;
  std::unique_ptr<Server> server_;
  std::uint32_t size_ = 0;
  base::Descriptor stop_;
  std::jthread thread_;
  std::mutex log_mutex_;
  std::string log_;
};

INSTANTIATE_TEST_SUITE_P(By, ServerTest, testing::Values("unix", "tcp", "tcp6"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(ServerTest, IsFoundByTheAddressThatItSays) {
  start(1);
  const std::string place = net::Endpoint{.host = host()}.text(); // ends with port 0
  const std::string begin = by_tcp() ? "tcp:" + place.substr(0, place.size() - 1) : "unix:@";
  EXPECT_TRUE(server_->address().starts_with(begin)) << server_->address();
  EXPECT_NE(join(0), nullptr);
}

TEST_P(ServerTest, PassesValuesFromOneRankToAnother) {
  start(2);
  const auto a = join(0);
  const auto b = join(1);
  std::jthread putter([&] { EXPECT_TRUE(b->put("address", bytes_of("shm:1"), soon())); });
  const auto value = a->get("address", 1, soon());
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(as_characters(*value), "shm:1");
}

TEST_P(ServerTest, GathersTheBlobsOfAllRanksInOrder) {
  static constexpr std::uint32_t kSize = 16;
  start(kSize);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    threads.emplace_back([this, rank] {
      const auto client = join(rank);
      for (int round = 0; round < 3; ++round) {
        const Bytes blob(rank == 3 ? 0 : kLargestBlob, static_cast<std::byte>(rank));
        const auto blobs = client->allgather(blob, soon());
        ASSERT_TRUE(blobs) << blobs.error().message();
        ASSERT_EQ(blobs->size(), kSize);
        for (std::uint32_t i = 0; i < kSize; ++i) {
          EXPECT_EQ((*blobs)[i], Bytes(i == 3 ? 0 : kLargestBlob, static_cast<std::byte>(i)));
        }
        ASSERT_TRUE(client->fence(soon()));
      }
      EXPECT_TRUE(client->leave());
    });
  }
}

TEST_P(ServerTest, TellsTheOthersWhenARankDies) {
  start(3);
  const auto a = join(0);
  auto b = join(1);
  const auto c = join(2);
  std::jthread waiter([&] {
    const auto fenced = c->fence(soon());
    ASSERT_FALSE(fenced);
    EXPECT_EQ(fenced.error().code, ErrorCode::peer_failed);
    EXPECT_EQ(fenced.error().peer, 1);
    EXPECT_EQ(wait_notice(*c), 1U);
  });
  b.reset();
  EXPECT_EQ(wait_notice(*a), 1U);
  const auto value = a->get("never", 1, soon());
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().peer, 1);
}

TEST_P(ServerTest, TellsLateComersOfEarlierFailures) {
  constexpr std::uint32_t kSize = 40; // many, because the notice must arrive together with the welcome to be missed
  start(kSize);
  const auto a = join(0);
  join(1).reset();
  EXPECT_EQ(wait_notice(*a), 1U);
  for (std::uint32_t rank = 2; rank < kSize; ++rank) {
    const auto late = join(rank);
    EXPECT_EQ(wait_notice(*late), 1U);
    ASSERT_TRUE(late->leave());
  }
}

TEST_P(ServerTest, ReportsNothingWhenARankLeavesInGoodOrder) {
  start(2);
  const auto a = join(0);
  const auto b = join(1);
  ASSERT_TRUE(b->leave());
  EXPECT_FALSE(b->fence(soon()));
  const auto fenced = a->fence(soon());
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().fact, "rank 1 left the job, so the processes of the job can never all meet");
  Notice notice;
  EXPECT_EQ(a->take_notices({&notice, 1}), 0U);
}

TEST_P(ServerTest, TellsOfDeparturesWhoAsksForThem) {
  start(4);
  const auto a = join(0);
  const auto before = join(1);
  const auto after = join(2);
  auto killed = join(3);
  ASSERT_TRUE(before->leave());
  ASSERT_TRUE(a->watch_departures());
  EXPECT_EQ(wait_notice(*a), 1U);
  ASSERT_TRUE(after->leave());
  EXPECT_EQ(wait_notice(*a), 2U);
  killed.reset();
  Notice notice;
  while (a->take_notices({&notice, 1}) == 0U) std::this_thread::yield();
  EXPECT_EQ(notice.rank, 3U);
  EXPECT_TRUE(notice.failed);
}

TEST_P(ServerTest, HearsTheGoodbyeOfOneWhoseAnswersCannotBeWritten) {
  if (by_tcp()) GTEST_SKIP() << "over TCP, who leaves reads until it has been heard";
  start(3);
  const auto a = join(0);
  const auto b = join(1);
  TearDown(); // from here on it serves when told to
  ASSERT_TRUE(b->leave());
  server_->declare_failed(2); // the notice of it reaches nobody at b
  server_->serve();
  EXPECT_EQ(server_->presence(1), Presence::left);
  Notice notice;
  EXPECT_EQ(a->take_notices({&notice, 1}), 1U);
  EXPECT_EQ(notice.rank, 2U);
}

TEST_P(ServerTest, HearsOutWhoHasEndedBeforeJudging) {
  start(3);
  const auto a = join(0);
  const auto b = join(1);
  auto c = join(2);
  TearDown();
  ASSERT_TRUE(b->watch_departures());
  // Over TCP, who parts waits until it has been heard.
  const auto hear_out = [this](std::uint32_t rank) {
    while (server_->presence(rank) == Presence::joined) server_->hear_out(rank);
  };
  {
    const std::jthread leaving([&] { EXPECT_TRUE(b->leave()); });
    hear_out(1);
  }
  EXPECT_EQ(server_->presence(1), Presence::left);
  {
    const std::jthread leaving([&] { c.reset(); }); // says that it gives up
    hear_out(2);
  }
  EXPECT_EQ(server_->presence(2), Presence::failed);
  server_->hear_out(2);
  server_.reset();
}

TEST_P(ServerTest, TakesNoLostConnectionForADeath) {
  start(2);
  const auto a = join(0);
  base::Descriptor socket = raw();
  const Bytes hello = FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(1).text(job_).finish();
  ASSERT_EQ(::send(socket.number(), hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  char byte = 0;
  ASSERT_EQ(::recv(socket.number(), &byte, 1, 0), 1); // welcome
  TearDown();
  socket.reset();
  server_->serve();
  EXPECT_EQ(server_->presence(1), Presence::joined);
  server_->declare_failed(1);
  EXPECT_EQ(wait_notice(*a), 1U);
  server_.reset(); // nobody would hear the goodbye
}

TEST_P(ServerTest, EndsAWaitAtItsDeadlineAndGoesOn) {
  start(2);
  const auto a = join(0);
  const auto b = join(1);
  const auto value = a->get("late", 1, base::deadline_in(std::chrono::milliseconds(1)));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::timed_out);
  EXPECT_EQ(a->fence(base::deadline_in(std::chrono::milliseconds(1))).error().code, ErrorCode::timed_out);
  ASSERT_TRUE(b->put("late", bytes_of("now"), soon()));
  EXPECT_EQ(as_characters(a->get("late", 1, soon()).value()), "now");
}

TEST_P(ServerTest, RefusesASecondProcessOfTheSameRank) {
  start(2);
  const auto a = join(0);
  const auto again =
      Client::connect({.address = server_->address(), .job = job_, .rank = 0, .size = 2, .secret = secret_}, soon());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::already_joined);
  EXPECT_TRUE(a->put("k", bytes_of("v"), soon()));
}

TEST_P(ServerTest, IsJoinedAgainByThoseWhoHaveLeft) {
  static constexpr std::uint32_t kSize = 4;
  start(kSize);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < kSize; ++rank)
    threads.emplace_back([this, rank] {
      for (int time = 0; time < 50; ++time) {
        const auto client = join(rank);
        ASSERT_NE(client, nullptr);
        const auto blobs = client->allgather(bytes_of(std::to_string(time)), soon());
        ASSERT_TRUE(blobs) << blobs.error().message();
        for (const Bytes& blob : *blobs) EXPECT_EQ(as_characters(blob), std::to_string(time));
        ASSERT_TRUE(client->leave());
      }
    });
}

// The two stand in two sockets, and which one is read first is chance.
TEST_P(ServerTest, HearsAGoodbyeBeforeTheHelloThatFollowedIt) {
  start(1);
  const base::Descriptor before = raw();
  const base::Descriptor after = raw();
  TearDown(); // served by hand
  const auto say = [](const base::Descriptor& socket, const Bytes& frame) {
    ASSERT_EQ(::send(socket.number(), frame.data(), frame.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frame.size()));
  };
  const Bytes hello = FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(0).text(job_).finish();
  say(before, hello);
  server_->serve(); // accepts
  server_->serve(); // reads
  server_->serve(); // finds nothing more: from now on sockets are read in the order in which they are written to
  ASSERT_EQ(server_->presence(0), Presence::joined);
  say(after, hello);
  say(before, FrameWriter(Kind::goodbye, 2).u8(1).finish());
  server_->serve();
  std::array<std::byte, 256> answer{};
  const ssize_t count = ::recv(after.number(), answer.data(), answer.size(), 0);
  ASSERT_GT(count, 0);
  EXPECT_EQ(cut_frame(std::span(answer).first(static_cast<std::size_t>(count)), answer.size()).frame.kind, Kind::done);
  EXPECT_EQ(server_->presence(0), Presence::joined);
}

// Nobody is connected whose end could bring a descriptor back.
TEST_P(ServerTest, AcceptsAgainSomeTimeAfterDescriptorsWereUsedUp) {
  if (by_tcp()) GTEST_SKIP() << "a door pauses by itself: door_test.cpp";
  start(1);
  TearDown();                            // served by hand
  const base::Descriptor caller = raw(); // the system keeps it until it is accepted
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  server_->serve();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(server_->connections(), 0U);
  ASSERT_TRUE(server_->wait(soon())) << "the pause ends";
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_P(ServerTest, RefusesSizesOutOfBoundsBeforeSending) {
  start(1);
  const auto a = join(0);
  EXPECT_EQ(a->put("", {}, soon()).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(a->put(std::string(kLargestKey + 1, 'k'), {}, soon()).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(a->put("k", Bytes(kLargestValue + 1), soon()).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(a->allgather(Bytes(kLargestBlob + 1), soon()).error().code, ErrorCode::bad_argument);
  EXPECT_TRUE(a->put(std::string(kLargestKey, 'k'), Bytes(kLargestValue), soon()));
}

TEST_P(ServerTest, DropsClientsThatSendGarbageAndServesTheOthers) {
  start(1);
  const std::uint64_t seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100; ++i) {
    const base::Descriptor socket = raw();
    Bytes garbage(64);
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random());
    garbage[3] = std::byte{0xff}; // a length beyond every bound, so that the server need not wait for more
    ASSERT_EQ(::send(socket.number(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 64);
    char byte = 0;
    EXPECT_LE(::recv(socket.number(), &byte, 1, 0), 0);
  }
  const auto a = join(0);
  EXPECT_TRUE(a->fence(soon()));
  const std::lock_guard lock(log_mutex_);
  EXPECT_EQ(std::ranges::count(log_, '\n'), 100);
}

TEST_P(ServerTest, CountsARankThatBreaksTheProtocolAsFailed) {
  start(2);
  const auto a = join(0);
  const base::Descriptor socket = raw();
  Bytes text = FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(1).text(job_).finish();
  const Bytes bad = FrameWriter(Kind::put, 2).u32(77).finish();
  text.insert(text.end(), bad.begin(), bad.end());
  ASSERT_EQ(::send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(wait_notice(*a), 1U);
}

TEST_P(ServerTest, TellsClientsWhenItIsGone) {
  start(1);
  const auto a = join(0);
  TearDown();
  server_.reset();
  const auto fenced = a->fence(soon());
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code, ErrorCode::store_failed);
  Notice notice;
  EXPECT_FALSE(a->take_notices({&notice, 1}));
  EXPECT_FALSE(a->watch_departures());
  EXPECT_FALSE(Client::connect({.address = "unix:@heddle-none", .job = "", .rank = 0, .size = 1}, soon()));
}

TEST(StoreAddress, RefusesWhatIsNone) {
  EXPECT_TRUE(parse_address("unix:@heddle-0"));
  EXPECT_TRUE(parse_address("unix:/run/heddle"));
  for (const auto& text :
       {std::string("tcp:host"), std::string("unix:"), std::string("unix:@"), "unix:" + std::string(200, 'x')}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  EXPECT_EQ(new_job_id().size(), 16U);
  EXPECT_NE(new_job_id(), new_job_id());
}

} // namespace
} // namespace heddle::store
