#include "pattern/common_options.hpp"

#include "pattern/meeting.hpp"
#include "schedule/algorithms.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::pattern {
namespace {

std::vector<PatternOptions> all_options() {
  std::vector<PatternOptions> all;
  for (const std::string_view name : schedule::algorithm_names())
    for (const bool barriers : {false, true}) all.push_back({.barriers = barriers, .algorithm = std::string(name)});
  return all;
}

TEST(CommonOptions, AreOneOnlyWhereAllAreTheSame) {
  const auto all = all_options();
  for (std::size_t one = 0; one < all.size(); ++one)
    for (std::size_t other = 0; other < all.size(); ++other) {
      const auto heard = static_cast<std::uint8_t>(CommonOptions(all[one]).news() | CommonOptions(all[other]).news());
      EXPECT_EQ(CommonOptions::are_one(heard), one == other) << text_of(all[one]) << ", " << text_of(all[other]);
    }
}

TEST(CommonOptions, DoNotSayThatSomethingIsWrong) {
  for (const PatternOptions& options : all_options()) {
    const std::uint8_t news = CommonOptions(options).news();
    EXPECT_EQ(news & Meeting::kWrong, 0) << text_of(options);
    EXPECT_TRUE(CommonOptions::are_one(static_cast<std::uint8_t>(news | Meeting::kWrong)));
  }
}

} // namespace
} // namespace heddle::pattern
