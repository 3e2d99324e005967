// What users meet who do not know the program yet: help without arguments, and errors that point to the right help.
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace heddle::tests {
namespace {

using testing::HasSubstr;

// The commands that a help lists.
std::vector<std::string> listed(const std::string& help) {
  std::istringstream lines(help.substr(std::min(help.find("Subcommands:"), help.size())));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.find_first_not_of(' ') == 2)
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

// Every command that does something: "info", "route load".
std::vector<std::vector<std::string>> commands() {
  std::vector<std::vector<std::string>> all;
  for (const std::string& name : listed(heddle({"--help"}).out)) {
    const auto below = listed(heddle({name, "--help"}).out);
    if (below.empty()) all.push_back({name});
    for (const std::string& inner : below) all.push_back({name, inner});
  }
  return all;
}

TEST(Usage, HelpIsShownWithoutArguments) {
  const Outcome outcome = heddle({});
  EXPECT_EQ(outcome.status, 2); // nothing was done
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, heddle({"--help"}).out);
  for (const char* command : {"run", "info", "perf", "route", "schedule", "sim", "reproduce"})
    EXPECT_THAT(outcome.err, HasSubstr(std::string("\n  ") + command + " "));
}

TEST(Usage, ErrorsPointToTheHelpThatListsTheOptions) {
  const auto all = commands();
  EXPECT_GE(all.size(), 10U);
  for (std::vector<std::string> arguments : all) {
    std::string name = arguments[0];
    if (arguments.size() > 1) name += " " + arguments[1];
    SCOPED_TRACE(name);
    std::vector<std::string> help = arguments;
    help.emplace_back("--help");
    EXPECT_THAT(heddle(help).out, HasSubstr("Options:"));
    arguments.emplace_back("--no-such-option");
    const Outcome outcome = heddle(arguments);
    expect_refused(name, outcome, "(see heddle " + name + " --help)");
    EXPECT_THAT(outcome.err, HasSubstr("no option is called '--no-such-option', did you mean --"));
  }
  const Outcome outer = heddle({"--no-such-option"});
  EXPECT_EQ(outer.status, 2);
  EXPECT_THAT(outer.err, HasSubstr("(see heddle --help)"));
  EXPECT_THAT(outer.err, HasSubstr("--no-such-option"));
  expect_refused("route", heddle({"route"}), "(see heddle route --help)");
  expect_refused("route", heddle({"route", "--tree", "6-ary-2-tree"}), "(see heddle route --help)");
  expect_refused("route load", heddle({"route", "load", "--nods", "0-5"}), "did you mean --nodes?");
  expect_refused("info", heddle({"info", "--why=x", "--jsn"}), "did you mean --json?");
}

TEST(Usage, SeedsBeyond64BitsAreRefused) {
  const std::vector<std::string> sim{"sim", "random",   "--fabric", "tofu:1x1x1", "--bytes",
                                     "8",   "--rounds", "1",        "--seed"};
  const auto with_seed = [&sim](const char* seed) {
    std::vector<std::string> arguments = sim;
    arguments.emplace_back(seed);
    return heddle(arguments);
  };
  EXPECT_EQ(with_seed("18446744073709551615").status, 0);
  for (const char* wrong : {"18446744073709551616", "99999999999999999999999", "-1", "1.5", "0x"})
    expect_refused("sim", with_seed(wrong), "--seed");
}

} // namespace
} // namespace heddle::tests
