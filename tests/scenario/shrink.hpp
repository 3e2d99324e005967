// Makes a failing scenario smaller, as long as it fails in the same way. After Zeller, Hildebrandt: Simplifying and isolating
// failure-inducing input, 2002.
#pragma once

#include "tests/scenario/scenario.hpp"

#include <functional>

namespace heddle::tests {

// `fails` says whether a scenario fails as the first did, which it must. Every scenario that is tried is a valid one.
// `go_on` is asked before each try, with the smallest so far; where it says no, that is the answer.
Scenario shrink(
    Scenario scenario, const std::function<bool(const Scenario&)>& fails,
    const std::function<bool(const Scenario&)>& go_on = [](const Scenario&) { return true; });

} // namespace heddle::tests
