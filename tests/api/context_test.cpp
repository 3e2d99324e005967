// Calls of a context alone: waiting, moving, joining again. A job of one process sends to itself.
#include <heddle/heddle.hpp>
#include <heddle/pattern.hpp>
#include <heddle/shared_region.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <vector>

namespace heddle::tests {
namespace {

using namespace std::chrono_literals;

class Alone : public testing::Test {
 protected:
  static Context join() {
    auto joined = Context::join({.single = true});
    if (!joined) throw std::runtime_error(joined.error().message());
    return std::move(*joined);
  }
  Request receive(std::uint64_t tag, std::uint64_t& into) {
    return context_.receive({.source = Rank{0}, .tag = Tag{tag}}, into).value();
  }
  void send(std::uint64_t tag, const std::uint64_t& word) {
    ASSERT_EQ(context_.wait(context_.send(Rank{0}, Tag{tag}, word).value()).code, ErrorCode::ok);
  }

  Context context_ = join();
  std::array<std::uint64_t, 3> in_{};
  std::uint64_t out_ = 77;
};

TEST_F(Alone, AWaitWhoseTimeIsOverLeavesTheOperationAsItIs) {
  const Request request = receive(1, in_[0]);
  EXPECT_EQ(context_.wait(request, 1ms).code, ErrorCode::timed_out);
  EXPECT_EQ(context_.wait(request, 0ns).code, ErrorCode::timed_out);
  EXPECT_EQ(context_.wait(request, -5s).code, ErrorCode::timed_out);
  send(1, out_);
  EXPECT_EQ(context_.wait(request, 1min).code, ErrorCode::ok);
  EXPECT_EQ(in_[0], 77U);
  EXPECT_EQ(context_.wait(request, 1min).code, ErrorCode::stale_request);
}

TEST_F(Alone, WaitAnySaysWhichHasEnded) {
  std::vector<Request> requests;
  for (std::uint64_t tag = 0; tag < 3; ++tag) requests.push_back(receive(tag, in_[tag]));
  const IndexedCompletion none = context_.wait_any(requests, 1ms);
  EXPECT_EQ(none.index, 3U);
  EXPECT_EQ(none.completion.code, ErrorCode::timed_out);
  for (const std::uint64_t tag : {2U, 0U, 1U}) {
    send(tag, out_);
    const IndexedCompletion one = tag == 0 ? context_.wait_any(requests, 1min) : context_.wait_any(requests);
    EXPECT_EQ(one.index, tag);
    EXPECT_EQ(one.completion.code, ErrorCode::ok);
    EXPECT_EQ(one.completion.tag, Tag{tag});
    EXPECT_EQ(one.completion.bytes, 8U);
    requests[one.index] = {};
  }
  const IndexedCompletion nothing = context_.wait_any(requests);
  EXPECT_EQ(nothing.index, 3U);
  EXPECT_EQ(nothing.completion.code, ErrorCode::stale_request);
  EXPECT_EQ(context_.wait_any({}).completion.code, ErrorCode::stale_request);
}

TEST_F(Alone, WaitAnyReportsAStaleRequestOnce) {
  const Request gone = receive(1, in_[0]);
  send(1, out_);
  ASSERT_EQ(context_.wait(gone).code, ErrorCode::ok);
  const std::array requests{receive(2, in_[1]), gone};
  const IndexedCompletion stale = context_.wait_any(requests);
  EXPECT_EQ(stale.index, 1U);
  EXPECT_EQ(stale.completion.code, ErrorCode::stale_request);
}

TEST_F(Alone, WaitAllGivesTheCompletions) {
  std::uint32_t small = 0;
  const std::array requests{receive(0, in_[0]), context_.receive({.tag = Tag{1}}, small).value()};
  send(1, out_);
  std::array<Completion, 2> completions;
  EXPECT_EQ(context_.wait_all(requests, completions, 1ms), ErrorCode::timed_out);
  EXPECT_EQ(context_.wait_all(requests, 1ms), ErrorCode::timed_out);
  send(0, out_);
  EXPECT_EQ(context_.wait_all(requests, completions, 1min), ErrorCode::truncated);
  EXPECT_EQ(completions[0].code, ErrorCode::ok);
  EXPECT_EQ(completions[0].bytes, 8U);
  EXPECT_EQ(completions[1].code, ErrorCode::truncated);
  EXPECT_EQ(completions[1].message_bytes, 8U);
  EXPECT_EQ(context_.wait_all(requests, completions), ErrorCode::stale_request);
}

TEST_F(Alone, WaitAllRefusesFewerCompletionsThanRequests) {
  const std::array requests{receive(0, in_[0]), receive(1, in_[1])};
  std::array<Completion, 1> few;
  EXPECT_EQ(context_.wait_all(requests, few), ErrorCode::bad_argument);
  EXPECT_EQ(context_.wait_all(requests, few, 1min), ErrorCode::bad_argument);
  send(0, out_);
  send(1, out_);
  EXPECT_EQ(context_.wait_all(requests), ErrorCode::ok);
}

TEST_F(Alone, WaitEventsWaitsForOne) {
  const auto received = context_.receive({.tag = Tag{1}}, in_[0], Notify::event(9));
  ASSERT_TRUE(received);
  std::array<Event, 4> events;
  EXPECT_EQ(context_.wait_events(events, 1ms), 0U);
  send(1, out_);
  ASSERT_EQ(context_.wait_events(events), 1U);
  EXPECT_EQ(events[0].cookie, 9U);
}

TEST_F(Alone, AWaitForAWordEndsWhenItsTimeIsOver) {
  const std::uint64_t word = 5;
  EXPECT_EQ(context_.one_sided().wait_change(word, 5, 1ms), 5U);
  EXPECT_EQ(context_.one_sided().wait_change(word, 4, 1min), 5U);
}

TEST_F(Alone, IsTheFirstProcessOfItsHost) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size()), 0);
  EXPECT_EQ(context_.host_name(Rank{0}).value(), std::string(name.data()).substr(0, 64));
  EXPECT_EQ(context_.local_rank(Rank{0}).value(), 0U);
  EXPECT_EQ(context_.host_name(Rank{1}).error().code, ErrorCode::bad_argument);
  EXPECT_EQ(context_.local_rank(Rank{1}).error().fact, "rank 1 is outside the job of 1 processes");
}

// Everything that a program may call by mistake ends with an error.
void expect_moved_from(Context& context) {
  constexpr auto kRefused = ErrorCode::bad_argument;
  std::uint64_t word = 0;
  std::array<Event, 1> events;
  std::array<Completion, 1> completions;
  const std::array requests{Request{1}};
  std::vector<std::byte> memory(8);
  EXPECT_EQ(context.size(), 0U);
  EXPECT_EQ(context.rank(), kAnySource);
  EXPECT_EQ(context.send(Rank{0}, Tag{0}, word).error().fact, "the context was moved to another object");
  EXPECT_EQ(context.receive({}, word).error().code, kRefused);
  EXPECT_EQ(context.probe({}).error().code, kRefused);
  EXPECT_EQ(context.matched_probe({}).error().code, kRefused);
  EXPECT_EQ(context.receive_matched({}, word).error().code, kRefused);
  EXPECT_FALSE(context.cancel({}));
  EXPECT_EQ(context.send_unsolicited(Rank{0}, Tag{0}, word).error().code, kRefused);
  context.release({});
  EXPECT_EQ(context.poll(events), 0U);
  EXPECT_EQ(context.wait_events(events), 0U);
  EXPECT_EQ(context.wait_events(events, 1min), 0U);
  EXPECT_EQ(context.test({})->code, kRefused);
  EXPECT_EQ(context.wait({}).code, kRefused);
  EXPECT_EQ(context.wait({}, 1min).code, kRefused);
  EXPECT_EQ(context.wait_any(requests).completion.code, kRefused);
  EXPECT_EQ(context.wait_any(requests, 1min).completion.code, kRefused);
  EXPECT_EQ(context.wait_all(requests), kRefused);
  EXPECT_EQ(context.wait_all(requests, 1min), kRefused);
  EXPECT_EQ(context.wait_all(requests, completions), kRefused);
  EXPECT_EQ(context.wait_all(requests, completions, 1min), kRefused);
  EXPECT_EQ(context.start_barrier().error().code, kRefused);
  EXPECT_EQ(context.barrier().error().code, kRefused);
  EXPECT_EQ(context.barrier(1min).error().code, kRefused);
  EXPECT_EQ(context.start_alltoall(word, memory).error().code, kRefused);
  EXPECT_EQ(context.alltoall(word, memory).error().code, kRefused);
  EXPECT_EQ(context.alltoallv({}, {}).error().code, kRefused);
  EXPECT_EQ(context.host_name(Rank{0}).error().code, kRefused);
  EXPECT_EQ(context.local_rank(Rank{0}).error().code, kRefused);
  EXPECT_EQ(context.why(Rank{0}, 8).error().code, kRefused);
  EXPECT_EQ(context.waiting_for(), "");
  EXPECT_TRUE(context.figures().empty());
  Tracker tracker;
  EXPECT_EQ(context.one_sided().allocate(AreaId{1}, 8).error().code, kRefused);
  EXPECT_EQ(context.one_sided().push({}, word), kRefused);
  EXPECT_EQ(context.one_sided().lock(Rank{0}, AreaId{1}, tracker, 1min), kRefused);
  EXPECT_EQ(context.one_sided().wait_change(word, 0), 0U);
  EXPECT_EQ(Pattern::create(context).error().code, kRefused);
  EXPECT_EQ(Pattern::neighbour_alltoall(context, {}, {}).error().fact, "the context was moved to another object");
  EXPECT_EQ(SharedRegion::create(context, AreaId{1}, 100).error().code, kRefused);
}

TEST_F(Alone, AContextThatWasMovedFromRefusesEveryCall) {
  Context other = std::move(context_);
  expect_moved_from(context_); // NOLINT(bugprone-use-after-move): that is the point
  EXPECT_EQ(other.rank(), Rank{0});
  Context third = std::move(context_); // of nothing
  expect_moved_from(third);
  context_ = std::move(other);
  expect_moved_from(other); // NOLINT(bugprone-use-after-move)
  Context& same = context_;
  context_ = std::move(same);
  const Request request = receive(1, in_[0]);
  send(1, out_);
  EXPECT_EQ(context_.wait(request).code, ErrorCode::ok);
}

TEST_F(Alone, IsJoinedAgainAfterLeaving) {
  for (int time = 0; time < 3; ++time) {
    context_ = join();
    const Request request = receive(1, in_[0]);
    send(1, out_);
    EXPECT_EQ(context_.wait(request).code, ErrorCode::ok);
  }
}

} // namespace
} // namespace heddle::tests
