#include "base/standard_descriptors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heddle::base {
namespace {

// In a child, which has no other use for them. What it found, as its exit status.
int status_of(auto&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int number : {0, 1, 2}) ::close(number);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardDescriptors, AreNotGivenOutToOthers) {
  EXPECT_EQ(status_of([] { return ::open("/dev/null", O_RDWR); }), 0) << "without: the first that is free";
  EXPECT_GT(status_of([] {
              occupy_standard_descriptors();
              return ::open("/dev/null", O_RDWR);
            }),
            2);
}

TEST(StandardDescriptors, StillCannotBeUsed) {
  EXPECT_EQ(status_of([] {
              occupy_standard_descriptors();
              std::array<char, 1> byte{};
              int wrong = 0;
              if (::read(0, byte.data(), 1) != -1 || errno != EBADF) wrong |= 1;
              if (::write(1, byte.data(), 1) != -1 || errno != EBADF) wrong |= 2;
              if (::write(2, byte.data(), 1) != -1 || errno != EBADF) wrong |= 4;
              return wrong;
            }),
            0);
}

TEST(StandardDescriptors, StayAsTheyAreWhereTheyAreOpen) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(1);
    const int own = ::open("/dev/zero", O_RDWR); // becomes 1
    occupy_standard_descriptors();
    std::array<char, 1> byte{1};
    ::_exit(own == 1 && ::read(1, byte.data(), 1) == 1 && byte[0] == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
} // namespace heddle::base
