#include "base/flight_recorder.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(FlightRecorder, ShowsMomentsOldestFirst) {
  FlightRecorder recorder(4);
  recorder.record("put", 1, 64, 7);
  recorder.record("matched", 2);
  const std::string text = recorder.dump();
  const auto put = text.find("put peer 1 (64, 7)\n");
  const auto matched = text.find("matched peer 2 (0, 0)\n");
  ASSERT_NE(put, std::string::npos) << text;
  ASSERT_NE(matched, std::string::npos) << text;
  EXPECT_LT(put, matched);
}

TEST(FlightRecorder, KeepsOnlyTheLastMoments) {
  FlightRecorder recorder(3); // rounded up to 4
  for (std::uint64_t i = 0; i < 10; ++i) recorder.record("event", 0, i);
  EXPECT_EQ(recorder.kept(), 4U);
  const std::string text = recorder.dump();
  EXPECT_EQ(text.find("(5, 0)"), std::string::npos);
  EXPECT_NE(text.find("(6, 0)"), std::string::npos);
  EXPECT_NE(text.find("(9, 0)"), std::string::npos);
}

TEST(FlightRecorder, ShowsNoMoreThanAsked) {
  FlightRecorder recorder(8);
  for (std::uint64_t i = 0; i < 8; ++i) recorder.record("event", 0, i);
  const std::string text = recorder.dump(1);
  EXPECT_EQ(text.find("(6, 0)"), std::string::npos);
  EXPECT_NE(text.find("(7, 0)"), std::string::npos);
}

TEST(FlightRecorder, DoesNothingWithoutRoom) {
  FlightRecorder recorder(0);
  recorder.record("event", 0);
  EXPECT_EQ(recorder.kept(), 0U);
  EXPECT_EQ(recorder.dump(), "");
}

} // namespace
} // namespace heddle::base
