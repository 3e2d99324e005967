#include "base/descriptor_limit.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <system_error>

namespace heddle::base {
namespace {

// Sets the soft limit for as long as it lives.
class Limit {
 public:
  explicit Limit(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now = before_;
    now.rlim_cur = most;
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

rlim_t open_now() {
  rlim_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd"), end; each != end; ++each) ++count;
  return count - 1; // the iterator's
}

TEST(DescriptorLimit, CountsTheAgentsOfHostsToo) {
  const Limit limit(open_now() + 60);
  EXPECT_TRUE(check_room_for_descriptors(40, 0, "the launcher"));
  EXPECT_TRUE(check_room_for_descriptors(40, 8, "the launcher"));
  const auto room = check_room_for_descriptors(40, 40, "the launcher");
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, ErrorCode::out_of_descriptors);
  EXPECT_TRUE(room.error().fact.starts_with("40 processes on 40 hosts need ")) << room.error().fact;
}

TEST(DescriptorLimit, IsRaisedForTheAgentsOfHostsToo) {
  rlimit hard{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &hard), 0);
  if (hard.rlim_max < 512) GTEST_SKIP() << "the hard limit leaves no room";
  const Limit limit(256);
  make_room_for_descriptors(100, 200);
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_GE(now.rlim_cur, 300U);
}

} // namespace
} // namespace heddle::base
