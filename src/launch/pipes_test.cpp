#include "launch/pipes.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <string>

#include "net/frames.hpp"

namespace heddle::launch {
namespace {

// A child of the rank's that has left its group, and writes again as soon as there is room.
TEST(Pipes, AreNotReadForEverWhereSomebodyGoesOnWriting) {
  auto pipes = Pipes::make(4, 2, false);
  ASSERT_TRUE(pipes) << pipes.error().message();
  const int far = pipes->streams_of(5).out;
  const std::string last = "its last words\n";
  const std::string other(1000, 'x');
  ASSERT_EQ(::write(far, last.data(), last.size()), static_cast<ssize_t>(last.size()));
  std::string said;
  int pieces = 0;
  pipes->read_all_of(5, [&](std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes) {
    EXPECT_EQ(rank, 5U);
    EXPECT_EQ(stream, 1);
    said += net::as_characters(bytes);
    if (++pieces < 1000) {
      EXPECT_EQ(::write(far, other.data(), other.size()), static_cast<ssize_t>(other.size()));
    }
    return true;
  });
  EXPECT_EQ(said, last);
}

TEST(Pipes, OfOneThatHasEndedAreReadToTheirEnd) {
  auto pipes = Pipes::make(0, 1, false);
  ASSERT_TRUE(pipes) << pipes.error().message();
  // As much as a pipe holds: several pieces.
  const std::string much(60'000, 'o');
  const std::string little = "an error\n";
  ASSERT_EQ(::write(pipes->streams_of(0).out, much.data(), much.size()), static_cast<ssize_t>(much.size()));
  ASSERT_EQ(::write(pipes->streams_of(0).error, little.data(), little.size()), static_cast<ssize_t>(little.size()));
  pipes->close_far_ends();
  std::array<std::string, 2> said;
  pipes->read_all_of(0, [&](std::uint32_t, std::uint8_t stream, std::span<const std::byte> bytes) {
    said[stream - 1U] += net::as_characters(bytes);
    return true;
  });
  EXPECT_EQ(said[0], much);
  EXPECT_EQ(said[1], little);
}

} // namespace
} // namespace heddle::launch
