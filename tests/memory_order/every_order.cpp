#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace heddle::memory_order {

namespace {

std::string listed(const std::vector<std::size_t>& choices) {
  std::string text;
  for (const std::size_t choice : choices) text += std::to_string(choice) + ' ';
  return text;
}

void expect_caught(const std::vector<Named>& programs, const Weakening& weakening) {
  std::uint64_t executions = 0;
  for (const Named& named : programs) {
    const Result result = explore(named.program, {.weakening = &weakening});
    executions += result.executions;
    if (!result.violated) continue;
    std::cout << weakening.text() << ": " << named.name << ", after " << executions << " executions: " << result.what
              << '\n';
    return;
  }
  ADD_FAILURE() << weakening.text() << ": no execution shows that it is needed, of " << executions;
}

} // namespace

void expect_sound_and_minimal(std::vector<Named> programs, const std::string& elsewhere) {
  std::map<Site, std::pair<Access, std::memory_order>> sites;
  std::map<std::string, std::uint64_t> sizes;
  for (const Named& named : programs) {
    const Result result = explore(named.program);
    sizes[named.name] = result.executions;
    EXPECT_FALSE(result.violated) << named.name << ": " << result.what << "; choices " << listed(result.choices);
    EXPECT_TRUE(result.violated || result.complete) << named.name;
    EXPECT_TRUE(result.unending.empty()) << named.name << ": thread " << *result.unending.begin() << " never ends";
    std::cout << named.name << ": " << result.executions << " executions, " << result.states << " states\n";
    for (const auto& site : result.sites)
      if (!site.first.file.ends_with("_test.cpp") && site.first.file != elsewhere) sites.insert(site);
  }
  // The small ones show most.
  std::sort(programs.begin(), programs.end(),
            [&sizes](const Named& one, const Named& other) { return sizes[one.name] < sizes[other.name]; });
  for (const auto& [site, asked] : sites)
    for (const Weakening& weakening : weakenings(site, asked.first, asked.second)) expect_caught(programs, weakening);
}

} // namespace heddle::memory_order
