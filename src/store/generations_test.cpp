#include "store/generations.hpp"

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

class GenerationsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kSize = 2;

  Result<void> say(ClientId client, Bytes frame) {
    answers_.clear();
    return generations_.receive(client, cut_frame(frame, kLargestRequest).frame, answers_);
  }
  void hello(ClientId client, std::uint32_t rank) {
    ASSERT_TRUE(say(client, FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(rank).text("job").finish()));
  }
  void goodbye(ClientId client, bool in_good_order = true) {
    ASSERT_TRUE(say(client, FrameWriter(Kind::goodbye, 9).u8(in_good_order ? 1 : 0).finish()));
    generations_.disconnected(client);
  }
  void fence(ClientId client) { ASSERT_TRUE(say(client, FrameWriter(Kind::fence, 5).finish())); }
  // What a client was answered last: the kind, or what a refusal says.
  std::string answer_to(ClientId client) {
    std::string text;
    for (const Answer& answer : answers_) {
      if (answer.to != client) continue;
      const Frame frame = cut_frame(*answer.frame, 1 << 20).frame;
      text = frame.kind == Kind::refused ? decode_refusal(frame.body).fact
             : frame.kind == Kind::done  ? "done"
                                         : "something else";
    }
    return text;
  }

  Generations generations_{kSize, "job"};
  Answers answers_;
};

TEST_F(GenerationsTest, AreJoinedOneAfterTheOther) {
  for (ClientId time = 0; time < 100; ++time) {
    const ClientId a = 1 + 2 * time;
    const ClientId b = a + 1;
    hello(a, 0);
    EXPECT_EQ(answer_to(a), "done");
    hello(b, 1);
    EXPECT_EQ(answer_to(b), "done");
    fence(a);
    fence(b);
    EXPECT_EQ(answer_to(a), "done");
    EXPECT_EQ(answer_to(b), "done");
    EXPECT_EQ(generations_.client_of(0), a);
    goodbye(a);
    EXPECT_EQ(generations_.presence(0), Presence::left);
    goodbye(b);
  }
}

TEST_F(GenerationsTest, KnowNothingOfEachOther) {
  hello(1, 0);
  hello(2, 1);
  ASSERT_TRUE(say(1, FrameWriter(Kind::put, 2).text("k").text("old").finish()));
  goodbye(1);
  hello(3, 0); // ahead of the other, who is still a member
  fence(3);
  fence(2);
  EXPECT_EQ(answer_to(2), "rank 0 left the job, so the processes of the job can never all meet");
  EXPECT_EQ(answer_to(3), "");
  goodbye(2);
  hello(4, 1);
  fence(4);
  EXPECT_EQ(answer_to(3), "done");
  EXPECT_EQ(answer_to(4), "done");
  ASSERT_TRUE(say(3, FrameWriter(Kind::get, 2).text("k").i64(1).finish()));
  EXPECT_EQ(answer_to(3), "");
}

TEST_F(GenerationsTest, RefuseMembersAndThoseWhoLeftTooEarlyOrFailed) {
  hello(1, 0);
  hello(3, 0);
  EXPECT_EQ(answer_to(3), "rank 0 has already joined this job");
  goodbye(1); // before the other has come
  hello(4, 0);
  EXPECT_EQ(answer_to(4), "rank 0 has left this job before all had joined it, and cannot join it again");
  hello(2, 1);
  goodbye(2, false);
  hello(5, 1);
  EXPECT_EQ(answer_to(5), "rank 1 counts as failed in this job, and cannot join it again");
}

TEST_F(GenerationsTest, HearOfProcessesThatEnded) {
  hello(1, 0);
  hello(2, 1);
  goodbye(1);
  hello(3, 0);
  fence(3);
  goodbye(2);
  answers_.clear();
  generations_.declare(1, Presence::left, answers_);
  EXPECT_EQ(answer_to(3), "rank 1 ended before it joined, so the processes of the job can never all meet");
}

TEST_F(GenerationsTest, RememberProcessesThatEndedBefore) {
  hello(1, 0);
  hello(2, 1);
  generations_.declare(1, Presence::failed, answers_);
  goodbye(1);
  hello(3, 0);
  fence(3);
  EXPECT_EQ(answer_to(3), "rank 1 failed before it joined, so the processes of the job can never all meet");
}

TEST_F(GenerationsTest, PassOnThatARankFailed) {
  hello(1, 0);
  hello(2, 1);
  goodbye(1);
  hello(3, 0);
  fence(3);
  answers_.clear();
  generations_.expel(2, answers_);
  EXPECT_EQ(answer_to(3), "rank 1 failed before it joined, so the processes of the job can never all meet");
}

} // namespace
} // namespace heddle::store
