// How long planning takes: 14 requests of a halo exchange, and 1,000 with routes of two links. Median and 10th percentile of many.
#include "schedule/algorithms.hpp"
#include "schedule/random_problem_for_tests.hpp"
#include "tools/heddle/halo.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace heddle::schedule;

Problem large_problem(std::uint32_t requests) {
  std::mt19937_64 dice(1);
  Problem problem{.resources = kTofuLike, .link_rates = std::vector<double>(40, kTofuLinkRate)};
  while (problem.size() < requests) {
    const std::uint32_t links[] = {static_cast<std::uint32_t>(dice() % 20),
                                   static_cast<std::uint32_t>(20 + dice() % 20)};
    problem.add({.bytes = 1024 + dice() % 100'000,
                 .receiver = static_cast<std::uint32_t>(dice() % 30),
                 .direction = static_cast<std::uint32_t>(dice() % 8)},
                std::span<const std::uint32_t>(links));
  }
  return problem;
}

void measure(const char* what, const Problem& problem, int repetitions) {
  for (const std::string_view name : algorithm_names()) {
    if (name == "exact") continue;
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      static_cast<void>(run_algorithm(name, problem));
      times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::sort(times);
    std::printf("%-8s %-20.*s median %10.1f us   fastest tenth %10.1f us\n", what, static_cast<int>(name.size()),
                name.data(), times[times.size() / 2], times[times.size() / 10]);
  }
}

} // namespace

int main() {
  measure("14", heddle::tool::halo_problem(*heddle::tool::scale_les3(872, "all"), kTofuLike, kTofuLinkRate), 1001);
  measure("1,000", large_problem(1000), 11);
}
