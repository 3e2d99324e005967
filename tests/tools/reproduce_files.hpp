// What `heddle reproduce --svg DIR --html DIR` leaves: charts that can be read, and a page on which no place is there twice.
#pragma once

#include "tests/tools/program.hpp"
#include "tools/heddle/svg_check_for_tests.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace heddle::tests {

inline std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void expect_places_once(const std::string& page) {
  std::set<std::string> places;
  const std::regex place(" id=\"([^\"]*)\"");
  for (std::sregex_iterator at(page.begin(), page.end(), place), end; at != end; ++at)
    EXPECT_TRUE(places.insert((*at)[1]).second) << (*at)[1] << " is there twice";
  const std::regex lead("href=\"#([^\"]*)\"");
  for (std::sregex_iterator at(page.begin(), page.end(), lead), end; at != end; ++at)
    EXPECT_TRUE(places.contains((*at)[1])) << (*at)[1] << " leads nowhere";
}

// A report as a whole, with its files looked at.
class Reproduced {
 public:
  explicit Reproduced(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "reproduce");
    arguments.insert(arguments.end(), {"--json", "--svg", folder_.string(), "--html", folder_.string()});
    outcome = heddle(arguments);
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() == ".svg") {
        charts.insert(entry.path().stem().string());
        EXPECT_EQ(faults_of(text_in(entry.path())), "") << entry.path();
      }
    page = text_in(folder_ / "index.html");
    expect_places_once(page);
  }
  ~Reproduced() { std::filesystem::remove_all(folder_); }
  Reproduced(const Reproduced&) = delete;
  Reproduced& operator=(const Reproduced&) = delete;

  Outcome outcome;
  std::set<std::string> charts; // without folder and .svg
  std::string page;

 private:
  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("heddle_reproduced_" + std::to_string(::getpid()));
};

} // namespace heddle::tests
