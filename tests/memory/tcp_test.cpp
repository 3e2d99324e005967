// TCP that runs out of memory at any step: connections come about, commands are carried out once and end, ends are told. Nothing is
// thrown but by attach, which the engine begins anew.
#include "tests/memory/failing_new.hpp"

#include "base/reserve.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::tests {
namespace {

using translators::Tcp;

enum class World : std::uint8_t { job, open };
enum class Lack : std::uint8_t { once, lasting };

constexpr std::uint64_t kRounds = 30;
constexpr std::size_t kGetBytes = 100'000;
constexpr std::size_t kWords = 64;
constexpr int kPollsWithout = 40;

// One of two processes, and what it does: words are put to the other, a counter there is added to, and memory of it is got.
class Talker {
 public:
  Talker(World world, std::uint32_t rank)
      : other_(1 - rank),
        tcp_(*Tcp::create({.rank = rank, .size = 2, .uid = world == World::open ? 100 + rank : 0})),
        own_(kWords),
        data_(kGetBytes, static_cast<std::byte>(7 + rank)),
        got_(kGetBytes) {
    place_ = *tcp_->expose(std::as_writable_bytes(std::span(own_)));
    data_place_ = *tcp_->expose(data_);
  }

  void meet(const Talker& other) {
    address_ = other.tcp_->address();
    there_ = other.place_;
    data_there_ = other.data_place_;
  }
  Tcp& tcp() { return *tcp_; }
  void leave() { tcp_.reset(); }
  [[nodiscard]] bool gone() const { return tcp_ == nullptr; }
  [[nodiscard]] bool done() const { return ended_ == 3 * kRounds; }
  [[nodiscard]] int told_of_end() const { return told_of_end_; }

  void step() {
    if (!attached_) try_to_attach();
    if (attached_ && begun_ < 3 * kRounds && begun_ < ended_ + 20) {
      const ir::Command command = next_command();
      begun_ += tcp_->submit({&command, 1});
    }
    std::array<ir::Event, 4> events;
    const std::size_t count = tcp_->poll(events);
    for (const ir::Event& event : std::span(events).first(count)) take(event);
  }

  void check(const Talker& other) const {
    EXPECT_EQ(own_[0], kRounds); // every addition of the other's, once
    EXPECT_EQ(own_[1], kRounds - 1);
    EXPECT_EQ(bad_, 0);
    EXPECT_TRUE(got_ == other.data_);
  }

 private:
  void try_to_attach() {
    try {
      attached_ = tcp_->attach(ir::Peer{other_}, address_).has_value();
    } catch (const std::bad_alloc&) {
    }
  }
  ir::Command next_command() {
    ir::Command command;
    command.peer = ir::Peer{other_};
    command.flags = ir::Flags::signalled;
    command.cookie = begun_;
    command.remote = there_;
    if (begun_ % 3 == 0) {
      command.operation = ir::Operation::fetch_and_add;
      command.operand = 1;
    } else if (begun_ % 3 == 1) {
      const std::uint64_t word = begun_ / 3;
      command.operation = ir::Operation::put;
      command.remote.offset += 8;
      std::memcpy(command.head.data(), &word, sizeof word);
      command.head_bytes = sizeof word;
    } else {
      command.operation = ir::Operation::get;
      command.remote = data_there_;
      command.local = got_.data();
      command.bytes = kGetBytes;
    }
    return command;
  }
  void take(const ir::Event& event) {
    if (event.kind == ir::EventKind::completed) {
      ++ended_;
      if (event.status != ir::Status::ok) ++bad_;
      if (event.cookie % 3 == 0 && event.value != event.cookie / 3) ++bad_; // what the counter held before
    } else if (event.kind == ir::EventKind::peer_left) {
      ++told_of_end_;
    } else if (event.kind != ir::EventKind::remote_written) {
      ++bad_;
    }
  }

  std::uint32_t other_;
  std::unique_ptr<Tcp> tcp_;
  std::vector<std::uint64_t> own_;
  std::vector<std::byte> data_;
  std::vector<std::byte> got_;
  ir::RemotePlace place_;
  ir::RemotePlace data_place_;
  ir::Address address_{};
  ir::RemotePlace there_;
  ir::RemotePlace data_there_;
  bool attached_ = false;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  int told_of_end_ = 0;
  int bad_ = 0;
};

class TcpMemory : public testing::TestWithParam<std::tuple<World, Lack>> {
 protected:
  // False: so many allocations there are not.
  static bool run(std::uint64_t failing) {
    const auto [world, lack] = GetParam();
    Talker a(world, 0);
    Talker b(world, 1);
    a.meet(b);
    b.meet(a);
    failure_lasts = lack == Lack::lasting;
    allocations_to_failure = failing;
    EXPECT_NO_THROW({
      until([&] { return a.done() && b.done(); }, a, b);
      a.tcp().detach(ir::Peer{1});
      if (world == World::open) until([&] { return b.told_of_end() > 0; }, a, b);
      a.leave();
      if (world == World::job) until([&] { return b.told_of_end() > 0; }, a, b);
    });
    const bool failed = allocations_to_failure == 0;
    allocations_to_failure = 0;
    no_memory = false;
    failure_lasts = false;
    a.check(b);
    b.check(a);
    EXPECT_EQ(b.told_of_end(), 1);
    return failed;
  }
  template <typename Done>
  static void until(const Done& done, Talker& a, Talker& b) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int polls = 0; !done(); polls = no_memory ? polls + 1 : 0) {
      if (!a.gone()) a.step();
      b.step();
      if (polls >= kPollsWithout) no_memory = false;
      if (std::chrono::steady_clock::now() > end) {
        no_memory = false;
        ADD_FAILURE() << "it never comes to an end";
        return;
      }
    }
  }
};

TEST_P(TcpMemory, ThatIsLackingLosesNothing) {
  ASSERT_TRUE(base::Reserve::keep());
  for (std::uint64_t n = 1; n < 1000; ++n) {
    SCOPED_TRACE(testing::Message() << "allocation " << n << " fails");
    if (run(n) && !HasFailure()) continue;
    std::printf("%llu allocations\n", static_cast<unsigned long long>(n));
    return;
  }
  ADD_FAILURE() << "there is no end of allocations";
}

INSTANTIATE_TEST_SUITE_P(Ways, TcpMemory,
                         testing::Combine(testing::Values(World::job, World::open),
                                          testing::Values(Lack::once, Lack::lasting)),
                         [](const auto& way) {
                           return std::string(std::get<0>(way.param) == World::job ? "InAJob" : "InAnOpenWorld") +
                                  (std::get<1>(way.param) == Lack::once ? "Once" : "ForAWhile");
                         });

} // namespace
} // namespace heddle::tests

#endif
