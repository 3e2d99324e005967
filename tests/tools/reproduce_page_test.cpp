// The page of `heddle reproduce --html`: complete, well-formed, and in need of nothing else.
#include "tests/tools/reproduce_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>

namespace heddle::tests {
namespace {

using nlohmann::json;

// A tag without the values of its attributes, which may be longer than std::regex has stack for.
std::string shape_of(std::string_view tag) {
  std::string shape;
  bool quoted = false;
  for (const char each : tag) {
    if (!quoted || each == '"' || each == '<') shape += each;
    if (each == '"') quoted = !quoted;
  }
  return shape;
}

// What an XML parser would stumble over first; empty where nothing.
std::string fault_in(std::string page) {
  if (constexpr std::string_view kType = "<!DOCTYPE html>\n"; page.starts_with(kType)) page.erase(0, kType.size());
  std::vector<std::string> open;
  bool had_root = false;
  for (std::size_t at = 0; at < page.size();) {
    if (page[at] == '&') {
      std::smatch entity;
      const std::string rest = page.substr(at, 8);
      if (!std::regex_search(rest, entity, std::regex("^&(lt|gt|amp|quot);"))) return "not an entity: " + rest;
    }
    if (page[at] != '<') {
      if (open.empty() && page[at] != '\n') return "text outside of the page";
      ++at;
      continue;
    }
    const std::size_t end = page.find('>', at);
    const std::string tag = page.substr(at, end == std::string::npos ? end : end + 1 - at);
    static const std::regex kTag("</([a-z0-9]+)>|<([a-z0-9]+)((?: [a-zA-Z0-9:-]+=\"\")*)( ?/)?>");
    const std::string shape = shape_of(tag);
    std::smatch parts;
    if (!std::regex_match(shape, parts, kTag)) return "not a tag: " + tag;
    if (parts[1].matched) {
      if (open.empty() || open.back() != parts[1]) return tag + " closes what is not open";
      open.pop_back();
    } else {
      if (open.empty() && had_root) return "a second root: " + tag;
      had_root = true;
      if (!parts[4].matched) open.push_back(parts[2]);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

// Everything that a browser would fetch: whatever is no place within the page.
std::vector<std::string> fetched_by(const std::string& page) {
  std::vector<std::string> found;
  static const std::regex kReference("(?:[ :](?:href|src|srcset|data|action)=\"([^\"]*)\"|url\\(([^)]*)\\)|(@import))");
  for (std::sregex_iterator at(page.begin(), page.end(), kReference), end; at != end; ++at)
    if (const std::string target = (*at)[1]; !target.starts_with('#')) found.push_back(at->str());
  static const std::regex kAddress("[a-z]+://[^\"< ]*");
  for (std::sregex_iterator at(page.begin(), page.end(), kAddress), end; at != end; ++at)
    if (at->str() != "http://www.w3.org/2000/svg") found.push_back(at->str()); // a name, not a place
  return found;
}

class ReproducePage : public testing::Test {
 protected:
  // Status, figures as JSON, and the page.
  void make(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--html", folder_});
    arguments.insert(arguments.begin(), "reproduce");
    const Outcome outcome = heddle(arguments);
    status_ = outcome.status;
    ASSERT_LE(status_, 1) << outcome.err;
    figures_ = json::parse(outcome.out).at("figures");
    std::ifstream file(folder_ + "/index.html", std::ios::binary);
    page_.assign(std::istreambuf_iterator<char>(file), {});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "heddle_page_" + std::to_string(::getpid());
  int status_ = -1;
  json figures_;
  std::string page_;
};

TEST_F(ReproducePage, HasEveryFigureWithItsVerdictAndNeedsNothingElse) {
  make({"all", "--packets", "0", "--only", "fat-tree"});
  EXPECT_EQ(status_, 0);
  ASSERT_GT(figures_.size(), 20U);
  for (const json& figure : figures_) {
    const std::string row = "<td class=\"id\">" + figure.at("id").get<std::string>() + "</td>";
    EXPECT_THAT(page_, testing::HasSubstr(row));
  }
  EXPECT_EQ(fault_in(page_), "");
  EXPECT_THAT(fetched_by(page_), testing::IsEmpty());
  EXPECT_THAT(page_, testing::HasSubstr("<b>known miss (exactly 1000)</b>"));
  EXPECT_THAT(page_, testing::HasSubstr("Known from 920 to 999. Why: the listing, as we read what is left of it"));
  for (const json& figure : figures_)
    if (figure.contains("verdict")) { // in the table of all, the worst first, with a command of its own
      const std::string command = "heddle reproduce --packets 0 --only " + figure.at("id").get<std::string>();
      EXPECT_THAT(page_, testing::HasSubstr("<code>" + command + "</code>"));
    }
  EXPECT_THAT(page_, testing::HasSubstr("heddle reproduce --packets 0 --only fat-tree/contiguous"));
  EXPECT_THAT(page_, testing::HasSubstr("<b>fitted to</b>: 1,716 MB/s"));
  EXPECT_THAT(page_, testing::HasSubstr("All-to-all on nodes 0 to n-1 (000, figure 10)</text>"));
}

TEST_F(ReproducePage, SaysWhatWasChangedAndWhatMisses) {
  make({"--only", "fat-tree/contiguous", "--set", "fat-tree.link=900"});
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(page_, testing::HasSubstr("<b>MISSES (tolerance 5 %)</b>"));
  EXPECT_THAT(page_, testing::HasSubstr("heddle reproduce --set fat-tree.link=900 --only fat-tree/contiguous"));
  EXPECT_THAT(page_, testing::HasSubstr("<td class=\"number\">900 MB/s</td>"));
}

TEST_F(ReproducePage, LeadsToEveryParameterTableOnce) {
  make({"--only", "rhinet/push64"});
  expect_places_once(page_);
  EXPECT_THAT(page_, testing::HasSubstr("<h2 id=\"parameters-rhinet\">"));
  // And says how far figures move with what has no source.
  EXPECT_THAT(page_, testing::HasSubstr("<tr><td class=\"id\">rhinet.metres=40</td><td class=\"number\">+"));
  EXPECT_EQ(fault_in(page_), "");
}

// The other reports are looked at where they are run as a whole.
TEST_F(ReproducePage, HasEveryPartOfPortabilityInAPlaceOfItsOwn) {
  make({"portability"});
  expect_places_once(page_);
  EXPECT_EQ(fault_in(page_), "");
}

// The tests above are worth something only if these are found.
TEST(PageCheck, FindsWhatIsWrong) {
  EXPECT_EQ(fault_in("<html><p>a &lt; b</p><br/></html>\n"), "");
  EXPECT_EQ(fault_in("<html><p>a</html>"), "</html> closes what is not open");
  EXPECT_EQ(fault_in("<html><p>a & b</p></html>"), "not an entity: & b</p><");
  EXPECT_EQ(fault_in("<html><p class=x>a</p></html>"), "not a tag: <p class=x>");
  EXPECT_EQ(fault_in("<html><p class=\"<\">a</p></html>"), "not a tag: <p class=\"<\">");
  EXPECT_EQ(fault_in("<html>"), "never closed: html");
  EXPECT_EQ(fetched_by("<a href=\"#here\"></a>").size(), 0U);
  EXPECT_EQ(fetched_by("<img src=\"a.png\"/>").size(), 1U);
  EXPECT_EQ(fetched_by("<style>p { background: url(a.png); }</style>").size(), 1U);
}

} // namespace
} // namespace heddle::tests
