// Charts that people can read, whatever is drawn; and that the test would notice if not.
#include "tools/heddle/chart.hpp"

#include "tools/heddle/svg.hpp"
#include "tools/heddle/svg_check_for_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace heddle::tool {
namespace {

using heddle::tests::faults_of;
using testing::HasSubstr;

Chart chart_of(std::size_t lines, double largest) {
  Chart chart{.file = "c", .title = "A title", .x_name = "nodes", .y_name = "MB/s per node", .series = {}};
  for (std::size_t i = 0; i < lines; ++i)
    chart.series.push_back({.name = "bottom-left-seeded-" + std::to_string(i),
                            .points = {{1, largest / 3}, {3, largest / 2}, {largest, largest}}});
  chart.series.push_back({.name = "report", .points = {{largest, largest}}, .reported = true});
  return chart;
}

TEST(Chart, KeepsTextApartWhereAllLinesEndAtOnePlace) {
  for (const std::size_t lines : {1U, 4U, 9U, 20U})
    for (const double largest : {0.003, 7.0, 872.0, 123456789.0})
      EXPECT_EQ(faults_of(to_svg(chart_of(lines, largest))), "") << lines << " lines up to " << largest;
}

TEST(Chart, CutsATitleThatIsTooLong) {
  Chart chart = chart_of(2, 10);
  chart.title = std::string(300, 'W');
  EXPECT_EQ(faults_of(to_svg(chart)), "");
}

TEST(Chart, EnlargesAndNamesTheReportsPointsBesideTheirLine) {
  Chart chart{.file = "c", .title = "A title", .x_name = "k", .y_name = "us, from 20 on", .series = {}, .y_from = 20};
  chart.series.push_back({.name = "quick", .points = {{60, 21}, {109, 22}}});
  chart.series.push_back({.name = "slow", .points = {{60, 27}, {109, 28.7}}});
  chart.series.push_back({.name = "slow", .points = {{109, 27.5}}, .reported = true});
  chart.series.push_back({.name = "quick", .points = {{60, 21.5}}, .reported = true});
  const std::string svg = to_svg(chart);
  EXPECT_EQ(faults_of(svg), "");
  EXPECT_THAT(svg, HasSubstr(">slow 27.5</text>"));
  EXPECT_THAT(svg, HasSubstr(">quick 21.5</text>"));
  EXPECT_THAT(svg, HasSubstr(">20</text>"));
  EXPECT_THAT(svg, testing::Not(HasSubstr(">19</text>")));
}

// In grey a line is known by its marks, however many points it has.
TEST(Chart, MarksEveryLine) {
  Chart chart{.file = "c", .title = "A title", .x_name = "sets", .y_name = "MB/s", .series = {}};
  for (const char* name : {"a", "b", "c", "d"}) {
    Series& series = chart.series.emplace_back(Series{.name = name, .points = {}});
    for (int i = 0; i < 1000; ++i) series.points.emplace_back(i, 1000 + i);
  }
  const std::string svg = to_svg(chart);
  std::set<std::string> shapes;
  std::size_t marks = 0;
  const std::regex mark("<path d=\"M[0-9.]+ [0-9.]+(m[^\"]*z)\" fill");
  for (std::sregex_iterator at(svg.begin(), svg.end(), mark), end; at != end; ++at, ++marks) shapes.insert((*at)[1]);
  EXPECT_EQ(shapes.size(), 4U);
  EXPECT_GE(marks, 4U * 12);
  EXPECT_LE(marks, 4U * 14 + 4U);
}

TEST(Chart, HasNoColourTwice) {
  std::set<std::string> colours;
  for (std::size_t i = 0; i < 30; ++i) EXPECT_TRUE(colours.insert(colour_of(i)).second) << i;
}

TEST(Chart, ShowsTheReportsValuesAsPoints) {
  EXPECT_THAT(to_svg(chart_of(1, 10)), HasSubstr("the report's values"));
}

TEST(SvgCheck, NoticesTextOverTextAndWhatLiesOutside) {
  const std::string frame = "<svg width=\"100\" height=\"50\" font-size=\"12\">";
  EXPECT_THAT(faults_of(frame + "<text x=\"5\" y=\"20\">one</text><text x=\"15\" y=\"24\">two</text></svg>"),
              HasSubstr("'two' over 'one'"));
  EXPECT_THAT(faults_of(frame + "<text x=\"90\" y=\"20\">cut off</text></svg>"),
              HasSubstr("outside the canvas: cut off"));
  EXPECT_THAT(faults_of(frame + "<text x=\"5\" y=\"20\">a</text><path d=\"M5 5h120\"/></svg>"),
              HasSubstr("outside the canvas: path"));
  EXPECT_THAT(faults_of(frame + "<text x=\"5\" y=\"20\">a</text><polyline points=\"1,1 5,60\"/></svg>"),
              HasSubstr("outside the canvas"));
  EXPECT_THAT(
      faults_of(frame + "<text x=\"50\" y=\"25\" text-anchor=\"middle\" transform=\"rotate(-90 50 25)\">far too long"
                        "</text></svg>"),
      HasSubstr("outside the canvas"));
  EXPECT_EQ(faults_of(frame + "<text x=\"5\" y=\"20\">one</text><text x=\"50\" y=\"20\">two</text></svg>"), "");
}

} // namespace
} // namespace heddle::tool
