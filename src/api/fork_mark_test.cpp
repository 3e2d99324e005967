#include "api/fork_mark.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

namespace heddle::api {
namespace {

// What `look` returns in a child of fork.
template <typename Look>
int in_child_of_fork(Look&& look) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(look());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkMark, IsSetInTheChildAlone) {
  ForkMark watched;
  ForkMark also;
  const ForkMark unwatched;
  watched.watch();
  also.watch();
  EXPECT_EQ(in_child_of_fork([&] {
              return (watched.in_child() ? 1 : 0) + (also.in_child() ? 2 : 0) + (unwatched.in_child() ? 4 : 0);
            }),
            3);
  EXPECT_FALSE(watched.in_child() || also.in_child());
}

TEST(ForkMark, IsForgottenWithItsOwner) {
  auto first = std::make_unique<ForkMark>();
  auto second = std::make_unique<ForkMark>();
  auto third = std::make_unique<ForkMark>();
  for (ForkMark* mark : {first.get(), second.get(), third.get()}) mark->watch();
  second.reset();
  EXPECT_EQ(in_child_of_fork([&] { return (first->in_child() ? 1 : 0) + (third->in_child() ? 2 : 0); }), 3);
  third.reset();
  first.reset();
  EXPECT_EQ(in_child_of_fork([] { return 7; }), 7);
}

} // namespace
} // namespace heddle::api
