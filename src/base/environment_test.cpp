#include "base/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace heddle::base {
namespace {

TEST(Environment, FindsWhatItWasGiven) {
  const Environment environment = Environment::of({{"A", "1"}, {"B", ""}});
  EXPECT_EQ(environment.lookup("A"), "1");
  EXPECT_EQ(environment.lookup("B"), "");
  EXPECT_EQ(environment.lookup("C"), std::nullopt);
}

TEST(Environment, CopiesTheProcess) {
  ::setenv("HEDDLE_ENVIRONMENT_TEST", "a=b", 1);
  const auto environment = Environment::of_process();
  ::unsetenv("HEDDLE_ENVIRONMENT_TEST");
  EXPECT_EQ(environment.lookup("HEDDLE_ENVIRONMENT_TEST"), "a=b");
}

} // namespace
} // namespace heddle::base
