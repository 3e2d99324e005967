#include "sim/rhinet.hpp"

#include <gtest/gtest.h>

#include "sim/diary_for_tests.hpp"

namespace heddle::sim {
namespace {

using std::chrono::nanoseconds;

// From the first byte out to the first in: two cables and a switch.
Picoseconds network_of(const RhinetParameters& given) {
  return given.switch_delay + 2 * Picoseconds{5000 * given.cable_metres};
}

// The report's table of a 64-byte push, in microseconds.
TEST(Rhinet, PassesThroughTheMomentsThatWereMeasured) {
  const RhinetParameters given;
  const auto moments = push_timeline(given, network_of(given));
  const double measured[] = {0.00, 0.29, 2.04, 2.21, 2.64, 3.54, 3.96, 4.98, 5.94, 6.23, 6.97, 8.14};
  for (std::size_t i = 0; i < kPushMoments; ++i) {
    EXPECT_NEAR(static_cast<double>(moments[i].count()) / 1e6, measured[i], 0.02) << "moment " << i;
  }
}

struct Push {
  Picoseconds departed;
  Picoseconds arrived;
};
Push push(const RhinetParameters& given, std::uint64_t bytes) {
  Network network = std::move(*Network::make(*rhinet(given, star(2))));
  Diary diary(network);
  EXPECT_TRUE(network.submit({.source = 0, .target = 1, .bytes = bytes, .cookie = 1}));
  EXPECT_TRUE(network.run());
  return {diary.departed_[1], diary.arrived_[1]};
}

// All bytes are there when the receiver's last bus transaction, one cycle a word, is over; the sender knows by the flag.
TEST(Rhinet, SimulatesThePushOfTheTimeline) {
  for (const bool overlap : {false, true}) {
    for (const std::int64_t controller : {62'500, 40'000}) {
      RhinetParameters given{.controller_cycle = Picoseconds{controller}, .overlap = overlap};
      const auto moments = push_timeline(given, network_of(given));
      const auto at = [&](PushMoment moment) { return moments[static_cast<std::size_t>(moment)]; };
      const Push done = push(given, 64);
      EXPECT_EQ(done.departed, at(PushMoment::pci_flag_write));
      const Picoseconds bus = overlap ? given.controller_cycle : given.pci_cycle;
      EXPECT_EQ(done.arrived, at(PushMoment::receiver_pci_data_dma) + bus * 16);
    }
  }
}

TEST(Rhinet, MovesFourKilobytesAtTheReportedRate) {
  const double rate = 4096 * 1e6 / static_cast<double>(push({}, 4096).arrived.count()); // MB/s
  EXPECT_NEAR(rate, 37, 37 * 0.03);
}

TEST(Rhinet, IsBetteredByTheRemediesOfTheReport) {
  const RhinetParameters plain;
  RhinetParameters overlap = plain;
  overlap.overlap = true;
  const std::size_t last = kPushMoments - 1;
  const Picoseconds gained = push_timeline(plain, Picoseconds{0})[last] - push_timeline(overlap, Picoseconds{0})[last];
  EXPECT_NEAR(static_cast<double>(gained.count()) / 1e6, 2.07, 0.05);

  RhinetParameters multiple = plain;
  multiple.read_multiple = true;
  RhinetParameters all = multiple;
  all.overlap = true;
  all.controller_cycle = Picoseconds{40'000};
  EXPECT_LT(push(multiple, 4096).arrived, push(plain, 4096).arrived);
  EXPECT_LT(push(overlap, 4096).arrived, push(multiple, 4096).arrived);
  // Then the network itself binds, at 80 MB/s.
  const double rate = 65536 * 1e6 / static_cast<double>(push(all, 65536).arrived.count());
  EXPECT_NEAR(rate, 80, 4);
}

TEST(Rhinet, SharesThePciBusBetweenSendingAndReceiving) {
  RhinetParameters given{.overlap = true};
  given.controller_cycle = Picoseconds{10'000}; // so that nothing but the bus binds
  given.rate = {1'000'000'000};
  Network network = std::move(*Network::make(*rhinet(given, star(2))));
  Diary diary(network);
  ASSERT_TRUE(network.submit({.source = 0, .target = 1, .bytes = 1 << 20, .cookie = 1}));
  ASSERT_TRUE(network.run());
  const Picoseconds alone = diary.arrived_[1];
  const Picoseconds start = network.now();
  ASSERT_TRUE(network.submit({.source = 0, .target = 1, .bytes = 1 << 20, .cookie = 2}));
  ASSERT_TRUE(network.submit({.source = 1, .target = 0, .bytes = 1 << 20, .cookie = 3}));
  ASSERT_TRUE(network.run());
  const double ratio = static_cast<double>((network.now() - start).count()) / static_cast<double>(alone.count());
  EXPECT_NEAR(ratio, 46.0 / 30.0, 0.05) << "30 cycles to read 64 bytes, 16 to write them";
}

TEST(Rhinet, BuildsStarsOfAnySizeFromSwitchesOfEightPorts) {
  for (const std::uint32_t nodes : {1U, 8U, 9U, 100U}) {
    const auto fabric = rhinet({}, star(nodes));
    ASSERT_TRUE(fabric) << fabric.error().message();
    EXPECT_EQ(fabric->nodes, nodes);
    EXPECT_TRUE(Network::make(*fabric));
  }
  EXPECT_EQ(rhinet({}, star(8))->switches.size(), 1U);
  EXPECT_EQ(rhinet({}, star(9))->switches.size(), 2U);
}

} // namespace
} // namespace heddle::sim
