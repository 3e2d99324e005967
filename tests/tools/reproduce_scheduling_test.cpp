// `heddle reproduce scheduling`, whole: what the report says in numbers and in words, and that sharing is hardly ever behind.
#include "tests/tools/reproduce_files.hpp"
#include "tests/traffic/slowdown.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

namespace heddle::tests {
namespace {

using nlohmann::json;

constexpr std::array kGrids{60, 70, 80, 109, 218, 327, 436, 545, 654, 763, 872};
constexpr std::array kFigures{"east-west", "north-south", "four", "diagonal", "eight"};
constexpr std::array kSix{"round-robin-1", "round-robin-2", "round-robin-4",
                          "bottom-left-1", "bottom-left-2", "bottom-left-4"};

// All points, and what the report says of them.
class Points {
 public:
  Points() {
    const Reproduced all({"scheduling"});
    EXPECT_EQ(all.outcome.status, 0) << all.outcome.err;
    std::set<std::string> charts{"scheduling-diagonal-small"};
    for (const char* figure : kFigures) charts.insert(std::string("scheduling-") + figure);
    EXPECT_EQ(all.charts, charts);
    const json object = json::parse(all.outcome.out);
    for (const json& figure : object.at("figures")) {
      ours_[figure.at("id")] = figure.at("ours");
      if (figure.contains("verdict") && figure.at("verdict") == "known miss")
        known_misses_.insert(figure.at("id"));
      else if (!figure.at("report").is_null() && figure.at("kind") != "contrast")
        reported_[figure.at("id")] = figure.at("report");
    }
  }
  [[nodiscard]] double us(const std::string& figure, int k, const std::string& method) const {
    return ours_.at("scheduling/" + figure + "/" + std::to_string(k) + "/" + method);
  }
  [[nodiscard]] double best_of_six(const std::string& figure, int k) const {
    double best = 1e300;
    for (const char* method : kSix) best = std::min(best, us(figure, k, method));
    return best;
  }
  // Each faster than the next, at this size and all larger ones.
  void expect_order(const std::string& figure, int from, std::initializer_list<const char*> methods) const {
    for (const int k : kGrids) {
      if (k < from) continue;
      for (const auto* method = methods.begin(); method + 1 != methods.end(); ++method)
        EXPECT_LT(us(figure, k, method[0]), us(figure, k, method[1])) << figure << " " << k << " " << method[0];
    }
  }
  [[nodiscard]] double ours(const std::string& id) const { return ours_.at(id); }
  [[nodiscard]] const std::map<std::string, double>& reported() const { return reported_; }
  [[nodiscard]] const std::set<std::string>& known_misses() const { return known_misses_; }

 private:
  std::map<std::string, double> ours_;
  std::map<std::string, double> reported_; // but known misses
  std::set<std::string> known_misses_;
};

TEST(ReproduceScheduling, AgreesWithTheReport) {
#if HEDDLE_TESTS_SANITIZED
  GTEST_SKIP() << "500 simulations: half a minute, and minutes under a sanitizer";
#endif
  const Points points;
  for (const auto& [id, report] : points.reported()) EXPECT_NEAR(points.ours(id), report, 0.08 * report) << id;
  std::set<std::string> known{"scheduling/east-west/overhead", "scheduling/four/872/orig_to_bottom-left-4",
                              "scheduling/four/overhead", "scheduling/north-south/overhead",
                              "scheduling/north-south/order/60/round-robin-4_to_bottom-left-4"};
  for (const int k : {60, 70, 80, 109, 218, 327, 436})
    known.insert("scheduling/diagonal/order/" + std::to_string(k) + "/bottom-left-2_to_round-robin-4");
  for (const int k : {60, 70, 80})
    known.insert("scheduling/eight/order/" + std::to_string(k) + "/bottom-left-4_to_best_of_others");
  EXPECT_EQ(points.known_misses(), known);
  // For small puts the report proposes to begin an engine later by what its queue takes, and did not try it: it gains.
  for (const char* figure : kFigures)
    EXPECT_LE(points.us(figure, 60, "bottom-left-seeded"), points.us(figure, 60, "bottom-left-4")) << figure;
  for (const char* figure : {"four", "diagonal", "eight"})
    EXPECT_LT(points.us(figure, 60, "bottom-left-seeded"), 0.98 * points.us(figure, 60, "bottom-left-4")) << figure;
  // What planning makes of messages, all else alike: two of one direction go over engines of their own.
  EXPECT_LT(points.us("north-south", 872, "orig-planned"), 0.6 * points.us("north-south", 872, "orig"));
  EXPECT_LT(points.us("four", 872, "orig-planned"), 0.9 * points.us("four", 872, "orig"));
  // And that what a program gets, whose messages are cut, is no slower.
  for (const char* figure : {"east-west", "north-south", "four"})
    EXPECT_LT(points.us(figure, 872, "orig-default"), 1.05 * points.us(figure, 872, "orig-planned")) << figure;
  EXPECT_GE(points.ours("scheduling/four/872/orig_to_bottom-left-4"), 1.7);
  // East-west: all the same but round-robin-1.
  for (const int k : kGrids) {
    for (std::size_t i = 1; i < kSix.size(); ++i)
      EXPECT_LE(points.us("east-west", k, kSix[i]), 1.02 * points.best_of_six("east-west", k)) << k << kSix[i];
    EXPECT_GT(points.us("east-west", k, kSix[0]), 1.1 * points.best_of_six("east-west", k)) << k;
  }
  // The order of the others; where the cost of queues decides, which figure 13 is about, from the size on where it no longer does.
  points.expect_order("north-south", 109, {"round-robin-4", "bottom-left-4", "round-robin-2", "round-robin-1"});
  points.expect_order("four", 60, {"bottom-left-4", "round-robin-4", "round-robin-2", "round-robin-1"});
  points.expect_order("diagonal", 545, {"bottom-left-4", "bottom-left-2", "round-robin-4", "round-robin-2"});
  points.expect_order("eight", 109, {"bottom-left-4", "bottom-left-2", "round-robin-4", "round-robin-2"});
  points.expect_order("eight", 218, {"bottom-left-4", "bottom-left-2", "bottom-left-1", "round-robin-4"});
  // Plans that promise the same differ by what processes leave a barrier apart: at most points nothing, at two up to 1.7 %.
  for (const char* figure : kFigures)
    for (const int k : kGrids)
      EXPECT_LE(points.us(figure, k, "sharing"), 1.02 * points.best_of_six(figure, k)) << figure << " " << k;
  for (const int k : kGrids) {
    EXPECT_LE(points.us("eight", k, "sharing_to_bound"), k < 218 ? 1.06 : 1.05) << k;
    if (k < 218) continue;
    EXPECT_LE(points.us("four", k, "sharing_to_bound"), 1.04) << k;
  }
}

} // namespace
} // namespace heddle::tests
