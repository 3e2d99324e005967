#include "heddle/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace heddle {
namespace {

TEST(Error, SaysCodeAndFactAlone) {
  const Error error{.code = ErrorCode::bad_argument, .fact = "rank 9 is outside the job of 4", .remedy = {}};
  EXPECT_EQ(error.message(), "bad_argument: rank 9 is outside the job of 4");
}

TEST(Error, AddsRemedyAndSystemCode) {
  const Error error{.code = ErrorCode::peer_failed,
                    .fact = "rank 3 has died",
                    .remedy = "see its output",
                    .peer = 3,
                    .system_code = ECONNRESET};
  EXPECT_EQ(error.message(),
            "peer_failed: rank 3 has died (remedy: see its output; errno 104 Connection reset by peer)");
}

TEST(Error, StaysOnOneLine) {
  const Error error{.code = ErrorCode::bad_option, .fact = "a\nb", .remedy = "c\r\nd"};
  EXPECT_EQ(error.message(), "bad_option: a b (remedy: c  d)");
}

TEST(Error, NamesEveryCode) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::system_failed); ++i) {
    EXPECT_NE(to_string(static_cast<ErrorCode>(i)), "unknown") << i;
  }
}

} // namespace
} // namespace heddle
