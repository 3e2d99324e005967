// Switches: cut-through, stop and go, lanes, copies for many targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/description.hpp"
#include "sim/diary_for_tests.hpp"
#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

std::unique_ptr<RhinetNetwork> make(const char* description) {
  return std::move(*RhinetNetwork::make(*parse_fabric(description)));
}

// When the last of the first `count` nodes after the source has it.
Picoseconds time_to_many(RhinetNetwork& network, std::uint32_t count, std::uint64_t bytes) {
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 1; i <= count; ++i) targets.push_back(i);
  Diary diary(network);
  const auto group = network.add_group(targets);
  EXPECT_TRUE(group);
  const Picoseconds start = network.now();
  EXPECT_TRUE(network.submit({.source = 0, .bytes = bytes, .cookie = 7, .group = *group}));
  EXPECT_TRUE(network.run());
  EXPECT_EQ(diary.order_.size(), count) << "each of them once";
  network.listen(nullptr);
  return diary.arrived_[7] - start;
}

TEST(RhinetSwitch, PassesAPacketOnBeforeItIsThere) {
  const auto time = [](const char* fabric, std::uint32_t target) {
    auto network = make(fabric);
    Diary diary(*network);
    EXPECT_TRUE(network->submit({.source = 0, .target = target, .bytes = 4096, .cookie = 1}));
    EXPECT_TRUE(network->run());
    return diary.arrived_[1];
  };
  // Around a ring of six, one switch more each step: a cable of 20 m and six steps of 25 ns.
  EXPECT_EQ(time("rhinet:ring:6", 2) - time("rhinet:ring:6", 1), std::chrono::nanoseconds(250));
}

TEST(RhinetSwitch, TakesHardlyLongerToManyThanToTwo) {
  auto network = make("rhinet:star:65");
  const Picoseconds two = time_to_many(*network, 2, 64);
  const Picoseconds many = time_to_many(*network, 64, 64);
  EXPECT_GT(many, two);
  EXPECT_LT(static_cast<double>(many.count()), 1.2 * static_cast<double>(two.count()));
  EXPECT_LT(static_cast<double>(time_to_many(*network, 64, 4096).count()),
            1.05 * static_cast<double>(time_to_many(*network, 2, 4096).count()));
}

TEST(RhinetSwitch, CopiesOnlyWhereWaysPart) {
  auto network = make("rhinet:star:65");
  time_to_many(*network, 64, 64);
  constexpr std::uint64_t kAcknowledgement = 16;
  constexpr std::uint64_t kData = 16 + 12 + 64; // header, a bit for each of 65 nodes in whole words, a line
  std::uint64_t copies = 0;
  for (std::uint32_t link = 0; link < network->fabric().links.size(); ++link) {
    const LinkCounters counters = network->counters(link);
    const std::uint64_t data = (counters.bytes - kAcknowledgement * counters.packets) / (kData - kAcknowledgement);
    EXPECT_LE(data, 1U) << network->name_of(Span::Part::link, link);
    copies += data;
  }
  const std::size_t switches = network->fabric().switches.size();
  EXPECT_EQ(copies, 1 + 64 + switches - 1) << "from the source, to each target, over each cable of the tree";
}

TEST(RhinetSwitch, LosesNothingWhereManySendToOne) {
  auto network = make("rhinet:star:40");
  Diary diary(*network);
  for (std::uint64_t round = 0; round < 8; ++round) {
    for (std::uint32_t source = 1; source < 40; ++source) {
      const auto lane = static_cast<std::uint16_t>(source % 2);
      ASSERT_TRUE(network->submit(
          {.source = source, .target = 0, .bytes = 20'000, .cookie = source * 100 + round, .lane = lane}));
    }
  }
  ASSERT_TRUE(network->run());
  EXPECT_EQ(diary.order_.size(), 8U * 39);
  EXPECT_EQ(network->dropped(), 0U);
  for (std::uint32_t source = 1; source < 40; ++source) {
    for (std::uint64_t round = 1; round < 8; ++round) {
      EXPECT_LT(diary.arrived_[source * 100 + round - 1], diary.arrived_[source * 100 + round]);
    }
  }
  std::uint32_t fullest = 0;
  for (std::uint32_t link = 0; link < network->fabric().links.size(); ++link) {
    fullest = std::max(fullest, network->counters(link).largest_queue);
  }
  EXPECT_LE(fullest, network->fabric().packets.buffer_bytes) << "the slack holds what comes after the stop";
  EXPECT_GT(fullest, network->fabric().packets.buffer_bytes / 2) << "or nothing was stopped at all";
}

// Two streams meet at a cable; a third crosses the first one's switch on another lane and is not held up.
TEST(RhinetSwitch, LetsAnotherLanePassABlockedOne) {
  const auto time = [](std::uint16_t lane) {
    auto network = make("rhinet:ring:4,routing=shortest,buffer=8400");
    Diary diary(*network);
    for (std::uint32_t i = 0; i < 12; ++i) {
      EXPECT_TRUE(network->submit({.source = 0, .target = 1, .bytes = 4096}));
      EXPECT_TRUE(network->submit({.source = 2, .target = 1, .bytes = 4096}));
      EXPECT_TRUE(network->submit({.source = 1, .target = 1, .bytes = 4096}));
    }
    EXPECT_TRUE(network->submit({.source = 3, .target = 1, .bytes = 64, .cookie = 9, .lane = lane}));
    EXPECT_TRUE(network->run());
    return diary.arrived_[9];
  };
  EXPECT_LT(time(1), time(0));
}

TEST(RhinetSwitch, RunsIntoDeadlockOnlyWithTablesThatAllowIt) {
  const auto fill = [](const char* fabric) {
    auto network = make(fabric);
    for (std::uint32_t node = 0; node < 6; ++node) {
      for (std::uint32_t i = 0; i < 30; ++i) {
        EXPECT_TRUE(network->submit({.source = node, .target = (node + 2) % 6, .bytes = 4096}));
      }
    }
    return network->run();
  };
  EXPECT_TRUE(fill("rhinet:ring:6,lanes=1,buffer=4300"));
  const auto done = fill("rhinet:ring:6,lanes=1,buffer=4300,routing=shortest,controller_cycle=1ns,overlap=1");
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().fact.find("waits for the first"), std::string::npos) << done.error().fact;
}

TEST(RhinetSwitch, ClimbsChannelsInsteadOfRunningIntoDeadlock) {
  const auto fill = [](const char* rule) {
    auto network =
        make((std::string("rhinet:ring:6,lanes=1,buffer=4300,controller_cycle=1ns,overlap=1,") + rule).c_str());
    Diary diary(*network);
    for (std::uint32_t node = 0; node < 6; ++node) {
      for (std::uint32_t i = 0; i < 30; ++i) {
        EXPECT_TRUE(network->submit({.source = node, .target = (node + 2) % 6, .bytes = 4096, .cookie = node}));
      }
    }
    const auto done = network->run();
    EXPECT_TRUE(!done || diary.order_.size() == 180U);
    return done.has_value();
  };
  EXPECT_FALSE(fill("routing=shortest,channels=3")) << "channels that nobody climbs";
  EXPECT_TRUE(fill("routing=structured,channels=3"));
  EXPECT_TRUE(fill("routing=reduced,channels=2"));
}

TEST(RhinetSwitch, GoesUpAndDownWhereChannelsAreTooFew) {
  const auto map = [](const char* rule) {
    return make((std::string("rhinet:ring:8,lanes=1,") + rule).c_str())->map_of(0);
  };
  EXPECT_EQ(map("routing=structured,channels=4").routing, RhinetRouting::structured);
  EXPECT_EQ(map("routing=structured,channels=3").routing, RhinetRouting::up_down);
  EXPECT_EQ(map("routing=structured,channels=3").channels_needed, 4U) << "as cables on half the ring";
  EXPECT_EQ(map("routing=reduced,channels=2").routing, RhinetRouting::reduced);
  EXPECT_EQ(map("routing=reduced").routing, RhinetRouting::up_down);
}

TEST(RhinetSwitch, SpillsWhatFindsNoBufferOnTheChip) {
  const auto run = [](const char* rule) {
    auto network = make(
        (std::string("rhinet:torus:4x4,routing=reduced,channels=2,controller_cycle=1ns,overlap=1") + rule).c_str());
    Diary diary(*network);
    for (std::uint32_t node = 0; node < 16; ++node) {
      for (std::uint32_t other = 0; other < 16; ++other) {
        EXPECT_TRUE(network->submit({.source = node,
                                     .target = other,
                                     .bytes = 5000,
                                     .lane = other % 2U == 0 ? std::uint16_t{0} : std::uint16_t{1}}));
      }
    }
    EXPECT_TRUE(network->run());
    EXPECT_EQ(diary.order_.size(), 256U);
    return std::pair(network->cache().misses, network->now());
  };
  EXPECT_EQ(run("").first, 0U) << "a buffer for every channel";
  const auto [few_misses, quick] = run(",cached=1,spill=0ns");
  const auto [misses, slow] = run(",cached=1,spill=100us");
  EXPECT_GT(few_misses, 0U);
  EXPECT_GT(misses, 0U);
  EXPECT_GT(slow, quick) << "what is spilt comes later";
}

// Everybody to everybody else, on one lane and with buffers for hardly more than a packet.
TEST(RhinetSwitch, DoesNotDeadlockOnCopiesEither) {
  auto network = make("rhinet:ring:6,lanes=1,buffer=4300");
  Diary diary(*network);
  for (std::uint32_t node = 0; node < 6; ++node) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t other = 0; other < 6; ++other) {
      if (other != node) others.push_back(other);
    }
    const std::uint32_t group = *network->add_group(others);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(network->submit({.source = node, .bytes = 4096, .group = group}));
  }
  const auto done = network->run();
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(diary.order_.size(), 6U * 20 * 5);
  EXPECT_EQ(network->dropped(), 0U);
}

TEST(RhinetSwitch, RefusesWhatCannotWork) {
  EXPECT_FALSE(RhinetNetwork::make(*parse_fabric("rhinet:star:4,buffer=4112")));
  EXPECT_FALSE(RhinetNetwork::make(*parse_fabric("infiniband:2-ary-2-tree")));
  auto network = make("rhinet:star:4");
  EXPECT_FALSE(network->add_group({}));
  EXPECT_FALSE(network->add_group({9}));
  EXPECT_FALSE(network->submit({.source = 0, .target = 9}));
  EXPECT_FALSE(network->submit({.source = 0, .group = 3}));
  EXPECT_FALSE(network->submit({.source = 0, .target = 1, .lane = 2}));
  EXPECT_FALSE(network->submit({.source = 0, .target = 1, .route = 0}));
}

TEST(RhinetSwitch, RunsTheSameTwice) {
  const auto history = [] {
    auto network = make("rhinet:star:20");
    for (std::uint32_t node = 0; node < 20; ++node) {
      EXPECT_TRUE(network->submit({.source = node, .target = (node * 7 + 3) % 20, .bytes = 5000}));
    }
    EXPECT_TRUE(network->run());
    return network->history();
  };
  EXPECT_EQ(history(), history());
}

} // namespace
} // namespace heddle::sim
