// Contexts that are opened and closed, peers that are added, removed, and added again, while messages of all sizes are under way: in
// any order. Whatever arrives is whole, from whom it says and in order; every operation ends; who has left is told once, to those who
// had it as a peer; nothing is kept at the end.
// TEST_SEED=N runs one seed, LONG_TESTS=1 many.
#include "tests/open_world/ledger.hpp"
#include "tests/open_world/member.hpp"

#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

class OpenRun {
 public:
  OpenRun(std::uint64_t seed, const std::string& network) : dice_(seed), mixed_(network == "mixed") {
    options_.translators = network;
    options_.ring_bytes = 4096U << below(3);
    options_.ring_memory = *options_.ring_bytes * (2 + below(6));
    options_.translator_options = {{"shm.cross_memory", below(3) == 0 ? "off" : "automatic"}};
  }

  void play() {
    const std::size_t most = 2 + below(5);
    const std::size_t steps = 50 + below(400);
    for (std::size_t i = 0; i < 2; ++i) open();
    for (std::size_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      Member& one = pick();
      switch (below(16)) {
        case 0:
          if (members_.size() < most) open();
          break;
        case 1:
          if (members_.size() > 2 && below(3) == 0) close();
          break;
        case 2:
        case 3:
        case 4:
          if (Member& other = pick(); &other != &one) one.add(other);
          break;
        case 5:
          if (!one.peers().empty() && below(2) == 0) one.remove(peer_of(one));
          break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
          if (!one.peers().empty()) one.send(peer_of(one), below(4) == 0 ? below(Member::kLargest) : below(200));
          break;
        default: one.poll(); break;
      }
      for (std::uint64_t polls = below(40); polls > 0; --polls) pick().poll();
    }
    wind_up();
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  std::uint64_t below(std::uint64_t limit) { return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(dice_); }
  Member& pick() { return *members_[below(members_.size())]; }
  std::uint32_t peer_of(const Member& member) {
    return *std::next(member.peers().begin(), static_cast<std::ptrdiff_t>(below(member.peers().size())));
  }
  void open() {
    std::uint64_t uid = 0;
    do uid = 1 + below(1U << 30U);
    while (!ledger_.is_free(uid));
    if (mixed_) mix();
    members_.push_back(std::make_unique<Member>(next_++, uid, options_, ledger_));
  }
  // On one of two machines, with networks in an order of its own; all have one in common.
  void mix() {
    constexpr std::array<const char*, 4> kOrders{"shm,tcp", "shm,tcp", "tcp,shm", "tcp"};
    options_.translators = kOrders[below(kOrders.size())];
    ::setenv("HEDDLE_NODE", below(3) == 0 ? "two" : "one", 1);
  }
  void close() {
    const auto at = members_.begin() + static_cast<std::ptrdiff_t>(below(members_.size()));
    received_ += (*at)->received();
    ledger_.closed((*at)->number());
    members_.erase(at);
  }
  // All sends end while everybody polls; then all peers are removed, and nothing is kept.
  void wind_up() {
    const auto all = [this](auto&& done) {
      for (int round = 0; round < 100'000; ++round) {
        for (const auto& member : members_) member->poll();
        if (std::ranges::all_of(members_, done)) return true;
      }
      return false;
    };
    EXPECT_TRUE(all([](const auto& member) { return member->rests(); })) << waiting();
    EXPECT_TRUE(all([](const auto& member) { return member->untold().empty(); })) << waiting();
    for (const auto& member : members_) member->expect_no_gaps();
    for (const auto& member : members_)
      while (!member->peers().empty()) member->remove(*member->peers().begin());
    EXPECT_TRUE(all([](const auto& member) { return member->figure("ring memory bytes") <= member->shared_rings(); }))
        << waiting();
    for (const auto& member : members_) received_ += member->received();
  }
  std::string waiting() {
    std::string text;
    for (const auto& member : members_)
      text += std::to_string(member->number()) + ": " + member->context().waiting_for() + " rings " +
              std::to_string(member->figure("ring memory bytes")) + " untold" + member->untold() + "\n";
    return text;
  }

  std::mt19937_64 dice_;
  bool mixed_;
  Options options_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Member>> members_;
  std::uint64_t next_ = 1;
  std::uint64_t received_ = 0;
};

class OpenWorldOver : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Network, OpenWorldOver, testing::Values("shm", "tcp", "mixed"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(OpenWorldOver, KeepsItsPromisesInAnyOrder) {
  const char* one = std::getenv("TEST_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t runs = one != nullptr ? 1 : std::getenv("LONG_TESTS") != nullptr ? 5000 : 60;
  std::uint64_t received = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    SCOPED_TRACE("repeat with TEST_SEED=" + std::to_string(seed));
    OpenRun run(seed, GetParam());
    run.play();
    ::unsetenv("HEDDLE_NODE");
    received += run.received();
    if (HasFailure()) return;
  }
  EXPECT_GT(received, one != nullptr ? 0 : runs * 5) << "too little has happened";
}

} // namespace
} // namespace heddle
