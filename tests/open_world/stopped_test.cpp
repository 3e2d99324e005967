// A peer that is stopped in the middle of an access to an area: closing the area ends, and succeeds when the peer goes on.
#include "job/contact_name.hpp"
#include "segments/guests.hpp"
#include "translators/shm/areas.hpp"

#include <heddle/heddle.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

namespace heddle {
namespace {

constexpr AreaId kStoppedIn{1};

// Where the host sees that this process is inside one of its areas. The address of a segment begins with its name.
std::atomic<std::uint64_t>* inside_word(const segments::Mapping& host) {
  const auto& header = host.header();
  auto* book = reinterpret_cast<segments::GuestBook*>(host.data() + header.guests);
  const auto* line = std::ranges::find_if(book->lines, [](const segments::GuestLine& each) {
    return each.process == static_cast<std::uint64_t>(::getpid());
  });
  auto* entries = reinterpret_cast<translators::AreaEntry*>(host.data() + header.areas);
  auto* inside = reinterpret_cast<translators::InsideWord*>(entries + translators::kMostAreas);
  return &inside[line - book->lines].process;
}

// Ends with 0 when everything has gone well.
int push_and_stop(const Name& name) {
  auto context = Context::open();
  if (!context) return 1;
  const auto host = context->add_peer(name);
  if (!host) return 2;
  const std::uint64_t word = 7;
  if (context->one_sided().push({*host, kStoppedIn, 0}, std::span(&word, 1)) != ErrorCode::ok) return 3;
  segments::SegmentName segment;
  std::memcpy(&segment, job::ContactName::decode(name).find('s')->address.bytes.data(), sizeof segment);
  const auto mapping = segments::map_segment(segment);
  if (!mapping) return 4;
  std::atomic<std::uint64_t>* inside = inside_word(*mapping);
  *inside = static_cast<std::uint64_t>(::getpid());
  ::raise(SIGSTOP);
  *inside = 0;
  return 0;
}

TEST(OpenProcesses, ThatAreStoppedInAnAreaDoNotHoldItsOwnerUp) {
  auto context = Context::open();
  ASSERT_TRUE(context);
  OneSided& one = context->one_sided();
  ASSERT_TRUE(one.allocate(kStoppedIn, 64));
  const Name name = *context->name();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(push_and_stop(name));
  std::array<Event, 1> none;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG | WUNTRACED) == 0) (void)context->poll(std::span(none).first(0));
  ASSERT_TRUE(WIFSTOPPED(status)) << WEXITSTATUS(status);

  const auto begin = std::chrono::steady_clock::now();
  const auto refused = one.close(kStoppedIn);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::timed_out);
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("area 1 cannot be closed yet: process " +
                                                            std::to_string(child) + " does not come to the end"));
  EXPECT_EQ(one.allocate(kStoppedIn, 64).error().code, ErrorCode::bad_argument) << "it is not closed";
  const std::uint64_t word = 8;
  EXPECT_NE(one.push({Rank{0}, kStoppedIn, 0}, std::span(&word, 1)), ErrorCode::ok) << "nor open";

  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const auto closed = one.close(kStoppedIn);
  EXPECT_TRUE(closed) << closed.error().message();
  EXPECT_TRUE(one.allocate(kStoppedIn, 64));
}

} // namespace
} // namespace heddle
