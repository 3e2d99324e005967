#include "store/text_line.hpp"

#include "base/descriptor.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <string_view>

namespace heddle::store {
namespace {

// So a server that goes on talking keeps nobody who waits for the end of what it says.
TEST(TextLine, HearsNothingAfterItsDeadlineThoughThereIsSomething) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const base::Descriptor near(ends[0]);
  const base::Descriptor far(ends[1]);
  const std::string_view words = "VALUE key 0 1\r\n";
  ASSERT_EQ(::send(far.number(), words.data(), words.size(), 0), static_cast<ssize_t>(words.size()));
  TextLine line(near.number(), "the server");
  const auto said = line.line("\r\n", base::Clock::now());
  ASSERT_FALSE(said) << *said;
  EXPECT_EQ(said.error().code, ErrorCode::timed_out);
  EXPECT_FALSE(line.usable());
}

} // namespace
} // namespace heddle::store
