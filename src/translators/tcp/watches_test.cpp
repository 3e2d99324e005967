// The system has no room to watch a connection: whoever needs it is told, or heard a little later. Nobody waits for ever.
#include "net/sockets.hpp"
#include "translators/contract/network.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <functional>
#include <thread>

namespace heddle::translators {
namespace {

using contract::kPatience;
using contract::load_word;

// From now on the system watches nothing more for this thread.
bool lose_watches() {
  constexpr std::uint32_t kOperation = offsetof(seccomp_data, args) + sizeof(std::uint64_t); // little-endian
  std::array program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOperation),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

// Runs it in a thread of its own for which the system watches nothing more. False: such a thread cannot be had.
bool without_watches(const std::function<void()>& act) {
  bool lost = false;
  std::thread([&] {
    lost = lose_watches();
    if (lost) act();
  }).join();
  return lost;
}

template <typename Done>
bool happens(Done&& done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done())
    if (std::chrono::steady_clock::now() >= end) return false;
  return true;
}

class TcpWatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!without_watches([] {})) GTEST_SKIP() << "the system filters no system calls";
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto made = Tcp::create({.rank = rank, .size = 2});
      ASSERT_TRUE(made) << made.error().message();
      job_[rank] = std::move(*made);
    }
    auto memory = job_[1]->allocate(8);
    ASSERT_TRUE(memory);
    memory_ = *memory;
  }
  void put(std::uint64_t word) {
    ir::Command command = contract::put_word(1, memory_.place, word);
    command.flags = ir::Flags::signalled;
    ASSERT_EQ(job_[0]->submit({&command, 1}), 1U);
  }
  [[nodiscard]] std::uint64_t word() const { return load_word(memory_.memory.data()); }

  std::array<std::unique_ptr<Tcp>, 2> job_;
  ir::ExposedMemory memory_;
};

TEST_F(TcpWatches, ThatAreLackingAreSaidToWhoConnects) {
  Result<ir::RemotePlace> attached;
  ASSERT_TRUE(without_watches([&] { attached = job_[0]->attach(ir::Peer{1}, job_[1]->address()); }));
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, ErrorCode::out_of_descriptors);
  EXPECT_TRUE(attached.error().remedy.contains("max_user_watches")) << attached.error().message();
  ASSERT_TRUE(job_[0]->attach(ir::Peer{1}, job_[1]->address())); // there is room again
  put(7);
  EXPECT_TRUE(happens([&] {
    for (const auto& each : job_) each->poll({});
    return word() == 7;
  }));
}

TEST_F(TcpWatches, ThatAreLackingAtTheDoorKeepNobodyOutForLong) {
  ASSERT_TRUE(job_[0]->attach(ir::Peer{1}, job_[1]->address()));
  put(7);
  std::array<ir::Event, 2> events;
  for (int tries = 0; tries < 3; ++tries) { // it is turned out at the door, and calls again
    ASSERT_TRUE(without_watches([&] {
      for (int i = 0; i < 100; ++i) job_[1]->poll({});
    }));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(job_[0]->poll(events), 0U);
  }
  ASSERT_TRUE(happens([&] {
    job_[1]->poll({});
    return job_[0]->poll(events) > 0;
  }));
  EXPECT_EQ(word(), 7U);
  EXPECT_EQ(events[0].kind, ir::EventKind::completed);
  EXPECT_EQ(events[0].status, ir::Status::ok);
}

// One that has been admitted, and has not said who it is, when there is no room for it.
TEST_F(TcpWatches, ThatAreLackingLetWhoIsAdmittedBeHeardByTheClock) {
  const auto place = tcp::Place::unpack(job_[1]->address());
  const auto socket = net::begin_connect(place->endpoint);
  ASSERT_TRUE(socket);
  auth::Introduction introduction(auth::Introduction::Role::calls, auth::Secret{}, tcp::kService);
  auto state = auth::Introduction::State::goes_on;
  const auto advance = [&] { return state = introduction.advance(socket->number()); };
  for (int i = 0; i < 1000 && advance() == auth::Introduction::State::goes_on; ++i)
    if (i < 2) job_[1]->poll({}); // it has been challenged; its proof stands in the socket
  ASSERT_TRUE(without_watches([&] {
    EXPECT_TRUE(happens([&] {
      job_[1]->poll({});
      return advance() != auth::Introduction::State::goes_on;
    }));
  }));
  ASSERT_EQ(state, auth::Introduction::State::proven);
  const tcp::Hello hello{.id = 1, .wanted = 2, .attempt = 1};
  iovec whole{.iov_base = const_cast<tcp::Hello*>(&hello), .iov_len = sizeof hello};
  ASSERT_EQ(net::send_some(socket->number(), {&whole, 1}), sizeof hello);
  EXPECT_TRUE(happens([&] {
    job_[1]->poll({});
    return job_[1]->will_tell_end(ir::Peer{0});
  }));
}

} // namespace
} // namespace heddle::translators
