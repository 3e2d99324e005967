#include "sim/text.hpp"

#include <gtest/gtest.h>

namespace heddle::sim {
namespace {

TEST(Text, ReadsRatesExactly) {
  EXPECT_EQ(parse_rate("6.8GB/s")->bytes_per_second, 6'800'000'000);
  EXPECT_EQ(parse_rate("80MB/s")->bytes_per_second, 80'000'000);
  EXPECT_EQ(parse_rate("1.25KB/s")->bytes_per_second, 1'250);
  EXPECT_EQ(parse_rate("7B/s")->bytes_per_second, 7);
  EXPECT_EQ(parse_rate("7.0B/s")->bytes_per_second, 7);
}

TEST(Text, ReadsTimesExactly) {
  EXPECT_EQ(parse_time("62.5ns"), Picoseconds{62'500});
  EXPECT_EQ(parse_time("1.5us"), Picoseconds{1'500'000});
  EXPECT_EQ(parse_time("3ps"), Picoseconds{3});
}

TEST(Text, RefusesWhatIsNoNumberOrNotWhole) {
  for (const char* text : {"", "GB/s", "2", "2.GB/s", ".5GB/s", "-1GB/s", "1e9B/s", "0.5B/s",
                           "99999999999999999999GB/s", "9999999999GB/s", "2 GB/s", "1.2.3GB/s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  EXPECT_FALSE(parse_time("0.1ps"));
  EXPECT_FALSE(parse_time("5"));
  EXPECT_FALSE(parse_count("5x"));
  EXPECT_EQ(parse_count("18446744073709551615"), 18446744073709551615U);
}

TEST(Text, WritesWhatItReads) {
  for (const char* rate : {"2GB/s", "6818MB/s", "80MB/s", "1B/s"}) EXPECT_EQ(print_rate(*parse_rate(rate)), rate);
  for (const char* time : {"200ns", "1us", "62500ps", "3ms"}) EXPECT_EQ(print_time(*parse_time(time)), time);
}

} // namespace
} // namespace heddle::sim
