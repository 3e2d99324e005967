// The interface against what the report measured, and against closed forms.
#include <gtest/gtest.h>

#include <array>

#include "sim/diary_for_tests.hpp"
#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

using Timeline = std::array<Picoseconds, kPushMoments>;

constexpr RhinetParameters kPlain;
RhinetParameters with_overlap(RhinetParameters given = {}) {
  given.overlap = true;
  return given;
}
RhinetParameters with_read_multiple(RhinetParameters given = {}) {
  given.read_multiple = true;
  return given;
}
RhinetParameters at_25_mhz(RhinetParameters given = {}) {
  given.controller_cycle = Picoseconds{40'000};
  return given;
}
RhinetParameters with_all() {
  return at_25_mhz(with_read_multiple(with_overlap()));
}

class Analyser : public PushProbe {
 public:
  void moment(PushMoment moment, Picoseconds time, std::uint64_t) override {
    times_[static_cast<std::size_t>(moment)] = time;
  }
  Timeline times_{};
};

struct Push {
  Timeline timeline;
  Picoseconds departed;
  Picoseconds arrived;
};
Push push(const RhinetParameters& given, std::uint64_t bytes) {
  auto network = std::move(*RhinetNetwork::make(*rhinet(given, star(2))));
  Diary diary(*network);
  Analyser analyser;
  network->probe(&analyser);
  EXPECT_TRUE(network->submit({.source = 0, .target = 1, .bytes = bytes, .cookie = 1}));
  EXPECT_TRUE(network->run());
  return {analyser.times_, diary.departed_[1], diary.arrived_[1]};
}
double microseconds(Picoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}
// MB/s of a long flow, without its start.
double sustained(const RhinetParameters& given) {
  constexpr std::uint64_t kShort = 1 << 16;
  constexpr std::uint64_t kLong = 1 << 20;
  return (kLong - kShort) / microseconds(push(given, kLong).arrived - push(given, kShort).arrived);
}

TEST(RhinetInterface, PassesThroughTheMomentsThatWereMeasured) {
  const double measured[] = {0.00, 0.29, 2.04, 2.21, 2.64, 3.54, 3.96, 4.98, 5.94, 6.23, 6.97, 8.14};
  const Push done = push(kPlain, 64);
  for (std::size_t i = 0; i < kPushMoments; ++i) {
    EXPECT_NEAR(microseconds(done.timeline[i]), measured[i], measured[i] * 0.05) << "moment " << i;
  }
}

// The clocks make the times: each step is a whole number of their cycles, counted by hand from the report's description.
TEST(RhinetInterface, TakesItsTimesFromCyclesOfThreeClocks) {
  const Picoseconds pci{30'000};
  const Picoseconds network{12'500};
  for (const Picoseconds controller : {Picoseconds{62'500}, Picoseconds{40'000}}) {
    const Timeline t = push({.controller_cycle = controller}, 64).timeline;
    EXPECT_EQ(t[1] - t[0], 10 * pci);
    EXPECT_EQ(t[2] - t[1], 28 * controller);
    EXPECT_EQ(t[3] - t[2], 2 * controller + 4 * network);
    EXPECT_EQ(t[4] - t[2], 4 * controller + 12 * pci);
    EXPECT_EQ(t[5] - t[4], 30 * pci) << "16 words, and 7 cycles for each of two bursts";
    EXPECT_EQ(t[6] - t[5], 6 * controller + 4 * network);
    EXPECT_EQ(t[7] - t[5], 23 * controller);
    EXPECT_EQ(t[8] - t[7], 9 * controller + 14 * pci);
    const Picoseconds wires = Picoseconds{350'000}; // two cables of 20 m and a switch
    EXPECT_EQ(t[9] - t[6], wires + 4 * network + 30 * controller);
    EXPECT_EQ(t[10] - t[9], 6 * controller + 12 * pci);
    EXPECT_EQ(t[11] - t[10], 18 * controller + 2 * pci);
  }
}

TEST(RhinetInterface, TakesAsLongForEightBytesAsTheReportSays) {
  EXPECT_NEAR(microseconds(push(kPlain, 8).arrived), 8.1, 8.1 * 0.05);
  EXPECT_EQ(push(kPlain, 8).timeline, push(kPlain, 64).timeline) << "a line is a line";
  EXPECT_LT(push(kPlain, 8).arrived, push(kPlain, 64).arrived) << "but fewer words are written";
}

TEST(RhinetInterface, MovesFourKilobytesAtTheReportedRate) {
  EXPECT_NEAR(4096 / microseconds(push(kPlain, 4096).arrived), 37, 3.7);
}

TEST(RhinetInterface, TellsTheSenderByTheFlagNotByTheArrival) {
  const Push done = push(kPlain, 64);
  EXPECT_EQ(done.departed, done.timeline[8] + 2 * kPlain.pci_cycle);
  EXPECT_LT(done.departed, done.arrived);
}

TEST(RhinetInterface, SavesWhatTheReportSaysWhenBusesOverlap) {
  const Timeline before = push(kPlain, 64).timeline;
  const Timeline after = push(with_overlap(), 64).timeline;
  const auto part = [&](std::size_t from, std::size_t to) {
    return microseconds((before[to] - before[from]) - (after[to] - after[from]));
  };
  EXPECT_NEAR(part(0, 11), 2.07, 2.07 * 0.05);
  EXPECT_NEAR(part(4, 5), 0.90, 0.90 * 0.05) << "at the sender";
  EXPECT_NEAR(part(10, 11), 1.17, 1.17 * 0.05) << "at the receiver";
}

TEST(RhinetInterface, IsFasterWithEachRemedyAndFastestWithAll) {
  const Picoseconds plain = push(kPlain, 65536).arrived;
  const Picoseconds all = push(with_all(), 65536).arrived;
  for (const RhinetParameters& one : {with_overlap(), with_read_multiple(), at_25_mhz()}) {
    EXPECT_LT(push(one, 65536).arrived, plain);
    EXPECT_GT(push(one, 65536).arrived, all);
  }
}

TEST(RhinetInterface, MovesLongFlowsAsTheClosedFormSays) {
  for (RhinetParameters given :
       {kPlain, with_overlap(), with_read_multiple(), at_25_mhz(), with_all(), with_read_multiple(with_overlap()),
        at_25_mhz(with_overlap()), at_25_mhz(with_read_multiple())}) {
    for (const std::int64_t link : {80'000'000, 133'000'000}) {
      given.rate = {link};
      EXPECT_NEAR(sustained(given), sustained_bandwidth(given).limit() / 1e6, 0.02 * sustained(given))
          << "overlap " << given.overlap << ", read multiple " << given.read_multiple << ", cycle "
          << given.controller_cycle.count() << ", link " << link;
    }
  }
}

// Then the network's 80 MHz binds; at the 133 MHz that its link can do, PCI: 64 bytes take 7 + 16 of its cycles.
TEST(RhinetInterface, IsLimitedByPciWithAllRemediesAndTheLinkAtItsFullClock) {
  RhinetParameters given = with_all();
  EXPECT_NEAR(sustained(given), 80.0 * 4096 / 4112, 0.5);
  given.rate = {133'000'000};
  const double pci = 64 / (23 * 0.030);
  EXPECT_NEAR(pci, 92.75, 0.01);
  EXPECT_NEAR(sustained(given), pci, pci * 0.01);
  EXPECT_DOUBLE_EQ(sustained_bandwidth(given).limit(), sustained_bandwidth(given).pci);
}

// The general model has its figures from the same parameters.
TEST(RhinetInterface, AgreesWithTheGeneralModelOnLongFlows) {
  for (const RhinetParameters& given : {kPlain, with_overlap(), with_all()}) {
    PacketNetwork general = std::move(*PacketNetwork::make(*rhinet(given, star(2))));
    Diary diary(general);
    ASSERT_TRUE(general.submit({.source = 0, .target = 1, .bytes = 1 << 20, .cookie = 1}));
    ASSERT_TRUE(general.run());
    const double ours = microseconds(push(given, 1 << 20).arrived);
    EXPECT_NEAR(microseconds(diary.arrived_[1]), ours, 0.05 * ours);
  }
}

TEST(RhinetInterface, SharesThePciBusBetweenSendingAndReceiving) {
  RhinetParameters given = with_overlap();
  given.controller_cycle = Picoseconds{5'000}; // so that nothing but the bus binds
  given.rate = {1'000'000'000};
  const auto time_of = [&](bool both) {
    auto network = std::move(*RhinetNetwork::make(*rhinet(given, star(2))));
    EXPECT_TRUE(network->submit({.source = 0, .target = 1, .bytes = 1 << 20}));
    if (both) {
      EXPECT_TRUE(network->submit({.source = 1, .target = 0, .bytes = 1 << 20}));
    }
    EXPECT_TRUE(network->run());
    return microseconds(network->now());
  };
  EXPECT_NEAR(time_of(true) / time_of(false), 47.0 / 30.0, 0.1) << "30 cycles to read 64 bytes, 17 to write them";
}

TEST(RhinetInterface, PreparesTheNextPrimitiveWhileDataMoves) {
  auto network = std::move(*RhinetNetwork::make(*rhinet(kPlain, star(2))));
  Diary diary(*network);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(network->submit({.source = 0, .target = 1, .bytes = 4096, .cookie = i}));
  }
  ASSERT_TRUE(network->run());
  const Picoseconds gap = (diary.arrived_[9] - diary.arrived_[0]) / 9;
  const double data = 4096 / sustained_bandwidth(kPlain).sender * 1e6;
  EXPECT_GE(microseconds(gap), data);
  EXPECT_LT(microseconds(gap), data + 1) << "decoding alone takes 1.75 us, and DMA 0.61 to start";
}

} // namespace
} // namespace heddle::sim
