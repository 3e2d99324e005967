// What the contract does not ask for: tags that come round, errors that nobody asked for, peers that die in silence, and queues that break.
#include "translators/contract/network.hpp"
#include "translators/utofu/utofu_for_tests.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <unistd.h>

namespace heddle::translators {
namespace {

using contract::Side;

// A machine with these switches; none where this process has used another one already.
bool emulate(const char* switches) {
  if (::dlopen(HEDDLE_TOFU_EMULATION, RTLD_NOW | RTLD_NOLOAD) != nullptr) return false;
  ::setenv("TOFU_EMULATION", switches, 1);
  return true;
}
#define HEDDLE_EMULATE(switches) \
  if (!emulate(switches)) GTEST_SKIP() << "the emulated machine is there already: run this test alone"

struct Peers {
  std::array<std::unique_ptr<Utofu>, 3> made = {utofu_of(0, HEDDLE_TOFU_EMULATION), utofu_of(1, HEDDLE_TOFU_EMULATION),
                                                utofu_of(2, HEDDLE_TOFU_EMULATION)};
  std::array<ir::RemotePlace, 3> at{};
  Side own{*made[0]};

  Peers() {
    for (std::uint32_t rank = 1; rank < 3; ++rank) {
      EXPECT_TRUE(made[rank]->allocate(4096));
      const auto place = made[0]->attach(ir::Peer{rank}, made[rank]->address());
      EXPECT_TRUE(place) << place.error().message();
      at[rank] = place.value_or(ir::RemotePlace{});
      made[0]->choose_engine(ir::Peer{rank}, 0); // with the numbers of one engine
    }
  }
};

TEST(UtofuAreas, ThatAreClosedTwiceLeaveTheOneThatHasTheTagNowAlone) {
  Peers peers;
  Utofu& owner = *peers.made[1];
  const auto first = owner.allocate_area(300);
  ASSERT_TRUE(first);
  ASSERT_TRUE(owner.close_area(first->place));
  owner.release_area(*first);
  std::vector<ir::ExposedMemory> later;
  for (std::size_t i = 0; i < 96; ++i) { // as many as there are tags
    const auto more = owner.allocate_area(400);
    ASSERT_TRUE(more) << more.error().message();
    later.push_back(*more);
  }
  ASSERT_TRUE(owner.close_area(first->place));
  for (const ir::ExposedMemory& area : later)
    EXPECT_EQ(peers.own.status_of(contract::put_word(1, area.place, 7)), ir::Status::ok);
}

// An announced put whose number is that of a command under way, to a peer that is gone: it is that peer's error alone.
TEST(UtofuErrors, OfCommandsThatNobodyWaitsForEndNoOther) {
  Peers peers;
  peers.made[1].reset();
  for (std::uint64_t round = 0; round < 100; ++round) {
    ir::Command lost = contract::put_word(1, peers.at[1].at(64), round);
    lost.flags = ir::Flags::announced;
    for (lost.operand = 1; lost.operand < 256; ++lost.operand) {
      if (lost.operand % 32 == 1) {
        ir::Command good = contract::put_word(2, peers.at[2].at(64), round);
        good.flags = ir::Flags::signalled;
        peers.own.submit(good);
      }
      peers.own.submit(lost);
    }
    for (const ir::Event& event : peers.own.events())
      ASSERT_TRUE(event.kind != ir::EventKind::completed || event.status == ir::Status::ok) << round;
    peers.own.events().clear();
  }
}

// By any of its queues, which notices name; nothing is heard of one that nobody has named.
TEST(UtofuPeers, AreKnownByTheirQueuesBeforeTheyAreAttached) {
  Peers peers;
  Side other(*peers.made[2]);
  const auto announce = [&](std::uint8_t engine, std::uint64_t number) {
    ir::Command command = contract::put_word(2, peers.at[2].at(64), number);
    command.flags = ir::Flags::announced;
    command.operand = number;
    command.send_engine = engine;
    EXPECT_EQ(peers.own.status_of(command), ir::Status::ok);
  };
  announce(0, 7);
  EXPECT_TRUE(other.events().empty());
  peers.made[2]->expect(ir::Peer{0}, peers.made[0]->address());
  peers.made[2]->expect(ir::Peer{3}, ir::Address{});
  for (const std::uint8_t engine : std::array<std::uint8_t, 3>{0, 5, 0}) {
    announce(engine, 100U + engine);
    const std::vector<ir::Event> events = std::exchange(other.events(), {});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, ir::EventKind::remote_written);
    EXPECT_EQ(events[0].peer, ir::Peer{0});
    EXPECT_EQ(events[0].value, 100U + engine);
  }
}

TEST(UtofuPeers, ThatDieInSilenceLeaveRoomForOthers) {
  HEDDLE_EMULATE("dead_peer=silent");
  Peers peers;
  peers.made[1].reset();
  ir::Command lost = contract::put_word(1, peers.at[1].at(64), 1);
  lost.flags = ir::Flags::signalled;
  for (int i = 0; i < 2000; ++i) {
    (void)peers.made[0]->submit({&lost, 1});
    peers.own.poll();
  }
  EXPECT_EQ(peers.made[0]->submit({&lost, 1}), 0U) << "the numbers of one peer are bounded";
  EXPECT_EQ(peers.own.status_of(contract::put_word(2, peers.at[2].at(64), 5)), ir::Status::ok);
}

// As the emulation logs it: a place of a, b and c for the way is a number that both count alike.
TEST(UtofuPaths, AreTakenAsCommandsNameThem) {
  const std::string log = testing::TempDir() + "utofu-paths-" + std::to_string(::getpid());
  HEDDLE_EMULATE(("log=" + log).c_str());
  {
    Peers peers;
    for (std::uint32_t path = 0; path <= 12; ++path) {
      ir::Command command = contract::put_word(2, peers.at[2].at(8 * path), path + 1);
      command.path = path;
      EXPECT_EQ(peers.own.status_of(command), ir::Status::ok);
    }
    peers.made[0]->choose_path(ir::Peer{2}, 7);
    std::vector<std::byte> back(8);
    EXPECT_EQ(peers.own.status_of(contract::get(2, peers.at[2].at(96), back)), ir::Status::ok);
    EXPECT_EQ(back[0], std::byte{13});
  }
  std::ifstream lines(log);
  std::array<int, 13> puts{};
  int gets = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(" path ");
    ASSERT_NE(at, std::string::npos) << line;
    const auto path = std::stoul(line.substr(at + 6));
    ASSERT_LT(path, puts.size());
    if (line.starts_with("piggyback") && line.ends_with("bytes 8")) ++puts[path];
    if (line.starts_with("get") && line.ends_with("bytes 8")) gets += path == 7 ? 1 : 100;
  }
  for (std::size_t path = 1; path < puts.size(); ++path) EXPECT_EQ(puts[path], 1) << path;
  EXPECT_EQ(gets, 1);
  std::filesystem::remove(log);
}

TEST(UtofuQueues, ThatFailForGoodAreNotPolledForEver) {
  HEDDLE_EMULATE("tcq_works=5000,mrq_works=5000");
  Peers peers;
  for (int i = 0; i < 20'000; ++i) {
    const ir::Command command = contract::put_word(2, peers.at[2].at(64), 1);
    (void)peers.made[0]->submit({&command, 1});
    peers.own.poll();
  }
  EXPECT_FALSE(peers.made[0]->drained()) << "what is under way has not ended by an error of the polling";
}

} // namespace
} // namespace heddle::translators
