// What the tests of jobs on several machines share: each runs in both forms, and leaves no process on any machine.
#pragma once

#include "tests/namespaces/machines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace heddle::tests {

using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

inline Lines sorted(Lines lines) {
  std::ranges::sort(lines);
  return lines;
}

inline std::string test_program(const std::string& name) {
  return std::string(HEDDLE_TEST_PROGRAMS) + "/" + name;
}

// A script around a command that already is one: "$0" "$@" stands for it.
inline std::vector<std::string> around(const std::string& script, std::vector<std::string> command) {
  command.insert(command.begin(), {"/bin/sh", "-c", script});
  return command;
}

class WithMachines : public testing::Test {
 protected:
  void make(Form form, std::uint32_t count) {
    std::string why;
    machines_ = Machines::make(form, count, why);
    if (machines_ == nullptr) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (machines_ == nullptr) return;
    EXPECT_EQ(machines_->left_after(std::chrono::seconds(10)), Lines{});
  }

  // `heddle run` on all machines, so many processes each.
  std::unique_ptr<Command> run(std::uint32_t on_each, const std::vector<std::string>& rest,
                               const Command::Variables& variables = {}) {
    return std::make_unique<Command>(machines_->run(machines_->hosts(on_each), rest), machines_->variables(variables));
  }
  std::unique_ptr<Command> run_around(const std::string& script, std::uint32_t on_each,
                                      const std::vector<std::string>& rest) {
    return std::make_unique<Command>(around(script, machines_->run(machines_->hosts(on_each), rest)),
                                     machines_->variables());
  }

  std::unique_ptr<Machines> machines_;
};

// Two machines of either form.
class OnHosts : public WithMachines, public testing::WithParamInterface<Form> {
 protected:
  void SetUp() override { make(GetParam(), 2); }
};

inline std::string name_of_form(const testing::TestParamInfo<Form>& info) {
  return info.param == Form::separate ? "Separate" : "Pretended";
}
inline const auto kBothForms = testing::Values(Form::pretended, Form::separate);

// Separate machines, for what pretended ones cannot do.
class OnSeparateHosts : public WithMachines {
 protected:
  void SetUp() override { make(Form::separate, 2); }
};

} // namespace heddle::tests
