// `heddle reproduce rhinet` as scripts meet it, and how far its figures may be from the report's.
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <map>

namespace heddle::tests {
namespace {

using nlohmann::json;

TEST(ReproduceRhinet, IsAsCloseToTheReportAsItPromises) {
  const std::string folder = testing::TempDir() + "heddle_rhinet_charts_" + std::to_string(::getpid());
  const Outcome outcome = heddle({"reproduce", "rhinet", "--json", "--svg", folder});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<std::string, json> figures;
  const json object = json::parse(outcome.out);
  for (const json& figure : object.at("figures")) figures[figure.at("id")] = figure;
  std::size_t moments = 0;
  for (const auto& [id, figure] : figures) {
    if (figure.at("report").is_null() || id.find("mcast") != std::string::npos) continue;
    const double report = figure.at("report");
    const double allowed = id.find("bandwidth") != std::string::npos ? 0.10 : 0.05;
    EXPECT_NEAR(figure.at("ours").get<double>(), report, std::abs(report) * allowed) << id;
    moments += id.starts_with("rhinet/push64/") ? 1U : 0U;
  }
  EXPECT_EQ(moments, 12U);
  EXPECT_LT(figures.at("rhinet/mcast/64-over-2").at("ours").get<double>(), 1.2);
  for (const char* chart : {"rhinet-latency", "rhinet-bandwidth", "rhinet-mcast"}) {
    EXPECT_GT(std::filesystem::file_size(folder + "/" + chart + ".svg"), 1000U) << chart;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace heddle::tests
