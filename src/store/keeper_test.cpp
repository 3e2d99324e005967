#include "store/keeper.hpp"

#include "store/address.hpp"
#include "store/client.hpp"
#include "store/dial.hpp"
#include "store/wire.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace heddle::store {
namespace {

base::Deadline in_a_minute() {
  return base::deadline_in(std::chrono::seconds(60));
}

// A process that joins as a rank, says so, and waits for its end or does as it is told.
class Member {
 public:
  Member(const Client::Target& target, const std::function<int(Client&)>& act) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    id_ = ::fork();
    if (id_ == 0) {
      auto client = Client::connect(target, in_a_minute());
      if (!client) ::_exit(99);
      [[maybe_unused]] const auto said = ::write(ends[1], "j", 1);
      ::_exit(act(**client));
    }
    ::close(ends[1]);
    char joined = 0;
    EXPECT_EQ(::read(ends[0], &joined, 1), 1);
    ::close(ends[0]);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() {
    kill();
    status();
  }
  void kill() const {
    if (id_ > 0) ::kill(id_, SIGKILL);
  }
  int status() {
    if (id_ > 0) ::waitpid(id_, &status_, 0);
    id_ = -1;
    return status_;
  }

 private:
  pid_t id_ = -1;
  int status_ = 0;
};

int rest(Client&) {
  while (true) ::pause();
}

Notice wait_notice(Client& client) {
  Notice notice;
  while (true) {
    const auto count = client.take_notices({&notice, 1});
    EXPECT_TRUE(count) << count.error().message();
    if (!count || *count == 1) return notice;
    std::this_thread::yield();
  }
}

bool listens(const std::string& address) {
  std::ifstream sockets("/proc/net/unix");
  const std::string all((std::istreambuf_iterator<char>(sockets)), std::istreambuf_iterator<char>());
  return all.contains(address.substr(5));
}

class KeeperTest : public testing::TestWithParam<const char*> {
 protected:
  static bool by_tcp() { return std::string_view(GetParam()) == "tcp"; }
  [[nodiscard]] Server::Config config(std::uint32_t size) const {
    Server::Config config{.size = size, .job = job_};
    if (by_tcp()) config.by_tcp = Server::Config::ByTcp{.host = net::loopback(), .secret = secret_};
    return config;
  }
  [[nodiscard]] Client::Target target(const std::string& address, std::uint32_t rank, std::uint32_t size) const {
    return {.address = address, .job = job_, .rank = rank, .size = size, .secret = secret_};
  }
  const std::string job_ = new_job_id();
  const auth::Secret secret_ = auth::Secret::draw();
};

TEST_P(KeeperTest, TellsWhoIsLeftOfADeath) {
  const auto address = start_keeper(config(2), in_a_minute());
  ASSERT_TRUE(address) << address.error().message();
  Member other(target(*address, 1, 2), rest);
  auto self = Client::connect(target(*address, 0, 2), in_a_minute());
  ASSERT_TRUE(self) << self.error().message();
  other.kill();
  const Notice notice = wait_notice(**self);
  EXPECT_EQ(notice.rank, 1U);
  EXPECT_TRUE(notice.failed);
  EXPECT_TRUE((*self)->leave());
}

TEST_P(KeeperTest, TakesNobodyForDeadWhoHasLeft) {
  const auto address = start_keeper(config(3), in_a_minute());
  ASSERT_TRUE(address) << address.error().message();
  auto self = Client::connect(target(*address, 0, 3), in_a_minute());
  ASSERT_TRUE(self);
  ASSERT_TRUE((*self)->watch_departures());
  Member leaver(target(*address, 1, 3), [](Client& client) { return client.leave() ? 0 : 1; });
  EXPECT_EQ(leaver.status(), 0);
  const Notice left = wait_notice(**self);
  EXPECT_EQ(left.rank, 1U);
  EXPECT_FALSE(left.failed);
  Member other(target(*address, 2, 3), rest);
  other.kill();
  const Notice notice = wait_notice(**self); // the first since: nothing was said of rank 1
  EXPECT_EQ(notice.rank, 2U);
  EXPECT_TRUE(notice.failed);
}

TEST_P(KeeperTest, OutlivesTheProcessThatHasStartedIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Server::Config wanted = config(2);
  const pid_t first = ::fork();
  if (first == 0) { // rank 0: starts the keeper, joins, and waits to be killed
    const auto address = start_keeper(wanted, in_a_minute());
    if (!address) ::_exit(1);
    const auto client = Client::connect(target(*address, 0, 2), in_a_minute());
    if (!client) ::_exit(1);
    [[maybe_unused]] const auto told = ::write(ends[1], address->data(), address->size());
    while (true) ::pause();
  }
  ::close(ends[1]);
  std::string address(200, '\0');
  const ssize_t count = ::read(ends[0], address.data(), address.size());
  ::close(ends[0]);
  ASSERT_GT(count, 0);
  address.resize(static_cast<std::size_t>(count));
  auto self = Client::connect(target(address, 1, 2), in_a_minute());
  ASSERT_TRUE(self) << self.error().message();
  ::kill(first, SIGKILL);
  ASSERT_EQ(::waitpid(first, nullptr, 0), first);
  EXPECT_EQ(wait_notice(**self).rank, 0U);
  const auto still = (*self)->put("key", {}, in_a_minute());
  EXPECT_TRUE(still) << still.error().message();
  ASSERT_TRUE((*self)->leave());
  self->reset();
  while (!by_tcp() && listens(address)) std::this_thread::yield(); // the last has left: it ends
}

TEST_P(KeeperTest, PassesOnThatTheJobEnds) {
  const auto address = start_keeper(config(2), in_a_minute());
  ASSERT_TRUE(address) << address.error().message();
  auto self = Client::connect(target(*address, 0, 2), in_a_minute());
  ASSERT_TRUE(self);
  Member other(target(*address, 1, 2), [](Client& client) {
    client.abort(9);
    return 9;
  });
  Notice notice = wait_notice(**self);
  while (!notice.ends_job_with) notice = wait_notice(**self);
  EXPECT_EQ(notice.rank, 1U);
  EXPECT_EQ(notice.ends_job_with, 9);
}

TEST_P(KeeperTest, SaysWhyItCannotBeStarted) {
  Server::Config impossible = config(2);
  if (by_tcp()) {
    impossible.by_tcp->host = net::parse_host("192.0.2.1").value(); // of nobody's machine
  } else {
    impossible.at = "unix:" + std::string(200, 'x');
  }
  const auto address = start_keeper(impossible, in_a_minute());
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, ErrorCode::store_failed);
  EXPECT_TRUE(address.error().fact.starts_with("the job's store cannot be started: ")) << address.error().fact;
}

// "srun sh -c './one && ./two'": rank 1 comes with the second program while rank 0, and the store that it keeps, are the first one's.
TEST_P(KeeperTest, LeavesItsPlaceToTheProgramThatComesNext) {
  Server::Config wanted = config(3);
  wanted.first_leads = true;
  if (by_tcp()) {
    net::Endpoint free{.host = net::loopback()};
    ASSERT_TRUE(net::listen_at(free));
    wanted.by_tcp->host = in6_addr{};
    wanted.by_tcp->ports = {.first = free.port, .last = free.port};
  } else {
    wanted.at = address_of_job(job_);
  }
  int up[2];
  int down[2];
  ASSERT_EQ(::pipe(up) | ::pipe(down), 0);
  const pid_t first = ::fork();
  if (first == 0) { // rank 0 of the first program: it has left, and ends when it is told to
    ::close(down[1]);
    const auto address = start_keeper(wanted, in_a_minute());
    if (!address) ::_exit(1);
    auto client = Client::connect(target(*address, 0, 3), in_a_minute());
    if (!client) ::_exit(1);
    [[maybe_unused]] const auto told = ::write(up[1], address->data(), address->size());
    char word = 0;
    if (::read(down[0], &word, 1) != 1) ::_exit(1);
    if (!(*client)->leave()) ::_exit(1);
    client->reset();
    [[maybe_unused]] const auto again = ::write(up[1], "l", 1);
    static_cast<void>(::read(down[0], &word, 1));
    ::_exit(0);
  }
  ::close(up[1]);
  ::close(down[0]);
  std::string address(200, '\0');
  const ssize_t count = ::read(up[0], address.data(), address.size());
  ASSERT_GT(count, 0);
  address.resize(static_cast<std::size_t>(count));
  if (by_tcp()) address = "tcp:127.0.0.1:" + std::to_string(wanted.by_tcp->ports.first);
  auto self = Client::connect(target(address, 1, 3), in_a_minute());
  ASSERT_TRUE(self) << self.error().message();
  const auto slow = Client::connect(target(address, 2, 3), in_a_minute()); // the first program's, as long as this test
  ASSERT_TRUE(slow) << slow.error().message();
  ASSERT_TRUE((*self)->leave());
  self->reset();
  ASSERT_EQ(::write(down[1], "l", 1), 1);
  char left = 0;
  ASSERT_EQ(::read(up[0], &left, 1), 1);
  // Who comes now is not taken for one that comes again, since rank 0 does not, and is let go when that ends:
  const auto early = dial(address, secret_, in_a_minute());
  ASSERT_TRUE(early) << early.error().message();
  const Bytes hello = FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(1).text(job_).finish();
  ASSERT_EQ(::send(early->number(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  for (const char* key : {"one", "two", "three"}) // by then it has heard what came before
    ASSERT_TRUE((*slow)->put(key, {}, in_a_minute()));
  std::byte answer{};
  EXPECT_EQ(::recv(early->number(), &answer, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  ::close(down[1]);
  ASSERT_EQ(::waitpid(first, nullptr, 0), first);
  EXPECT_LE(::recv(early->number(), &answer, 1, 0), 0);
  // The place is free, though a process of the first program is still connected.
  auto next = start_keeper(wanted, in_a_minute());
  while (!next && next.error().system_code == EADDRINUSE) next = start_keeper(wanted, in_a_minute());
  ASSERT_TRUE(next) << next.error().message();
  const auto second = Client::connect(target(address, 1, 3), in_a_minute());
  EXPECT_TRUE(second) << second.error().message();
  ::close(up[0]);
}

TEST_P(KeeperTest, LetsAllComeAgainWithRank0) {
  Server::Config wanted = config(2);
  wanted.first_leads = true;
  const auto address = start_keeper(wanted, in_a_minute());
  ASSERT_TRUE(address) << address.error().message();
  for (int time = 0; time < 3; ++time) {
    Result<std::unique_ptr<Client>> other;
    std::jthread comer([&] { other = Client::connect(target(*address, 1, 2), in_a_minute()); });
    const auto self = Client::connect(target(*address, 0, 2), in_a_minute());
    ASSERT_TRUE(self) << self.error().message();
    comer.join();
    ASSERT_TRUE(other) << other.error().message();
    ASSERT_TRUE((*self)->leave());
    ASSERT_TRUE((*other)->leave());
  }
}

// The limit on open files for as long as the object lives.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t files) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    set(files, before_.rlim_max);
  }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  ~SoftLimit() { set(before_.rlim_cur, before_.rlim_max); }
  static void set(rlim_t soft, rlim_t hard) {
    const rlimit limit{.rlim_cur = soft, .rlim_max = hard};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

 private:
  rlimit before_{};
};

TEST_P(KeeperTest, ServesMoreProcessesThanTheProgramMayOpenFiles) {
  constexpr std::uint32_t kMany = 200;
  Result<std::string> address;
  {
    const SoftLimit few(64); // the program's, which the keeper begins with
    address = start_keeper(config(kMany), in_a_minute());
    rlimit still{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &still), 0);
    EXPECT_EQ(still.rlim_cur, 64U);
  }
  ASSERT_TRUE(address) << address.error().message();
  std::vector<std::unique_ptr<Client>> all;
  for (std::uint32_t rank = 0; rank < kMany; ++rank) {
    auto client = Client::connect(target(*address, rank, kMany), in_a_minute());
    ASSERT_TRUE(client) << rank << ": " << client.error().message();
    all.push_back(std::move(*client));
  }
}

TEST_P(KeeperTest, SaysThatTheSystemLetsItServeTooFew) {
  const pid_t child = ::fork(); // what a process takes from its hard limit it does not get back
  if (child == 0) {
    SoftLimit::set(64, 64);
    const auto address = start_keeper(config(200), in_a_minute());
    const std::string fact = address ? "" : address.error().fact;
    ::_exit(fact.contains("200 processes need ") && fact.contains("the limit is 64; raise the limit on open files")
                ? 0
                : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, KeeperTest, testing::Values("unix", "tcp"), [](const auto& of) { return of.param; });

} // namespace
} // namespace heddle::store
