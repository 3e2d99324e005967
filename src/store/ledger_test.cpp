#include "store/ledger.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/random_history_for_tests.hpp"

namespace heddle::store {
namespace {

// A ledger with clients that speak to it directly: client id = rank + 1.
class LedgerTest : public testing::Test {
 protected:
  explicit LedgerTest(std::uint32_t size = 3) : ledger_(size, "job") {}

  Result<void> say(ClientId client, Bytes frame) {
    answers_.clear();
    return ledger_.receive(client, cut_frame(frame, kLargestRequest).frame, answers_);
  }
  void hello(std::uint32_t rank) {
    ASSERT_TRUE(say(rank + 1, FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(rank).text("job").finish()));
  }
  void hello_all() {
    for (std::uint32_t rank = 0; rank < ledger_.size(); ++rank) hello(rank);
  }
  // Answers of the last call to one client, as "kind:sequence" with what a refusal or notice names.
  std::vector<std::string> answers_to(ClientId client) {
    std::vector<std::string> texts;
    for (const Answer& answer : answers_) {
      if (answer.to != client) continue;
      const Frame frame = cut_frame(*answer.frame, 1 << 20).frame;
      std::string text = std::to_string(static_cast<int>(frame.kind)) + ":" + std::to_string(frame.sequence);
      if (frame.kind == Kind::refused) text = decode_refusal(frame.body).fact;
      if (frame.kind == Kind::notice) text = "notice " + std::to_string(BodyReader(frame.body).u32().value());
      if (frame.kind == Kind::value)
        text = "value " + std::string(as_characters(BodyReader(frame.body).text().value()));
      if (frame.kind == Kind::done) text = "done " + std::to_string(frame.sequence);
      texts.push_back(text);
    }
    return texts;
  }
  using Texts = std::vector<std::string>;

  Ledger ledger_;
  Answers answers_;
};

// Otherwise a large job's store would hold its cards once for each process at the same time.
TEST_F(LedgerTest, GivesAllWhoAskAlikeOneCopyOfWhatIsGathered) {
  hello_all();
  for (ClientId client = 1; client <= 3; ++client) {
    const std::uint32_t sequence = client == 3 ? 8 : 7;
    ASSERT_TRUE(say(client, FrameWriter(Kind::allgather, sequence).text("card").finish()));
  }
  ASSERT_EQ(answers_.size(), 3U);
  EXPECT_EQ(answers_[0].frame, answers_[1].frame);
  for (const Answer& answer : answers_) {
    const Frame frame = cut_frame(*answer.frame, 1 << 20).frame;
    EXPECT_EQ(frame.kind, Kind::gathered);
    EXPECT_EQ(frame.sequence, answer.to == 3 ? 8U : 7U);
    BodyReader reader(frame.body);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(as_characters(reader.text().value()), "card");
    EXPECT_TRUE(reader.finished());
  }
}

TEST_F(LedgerTest, AnswersAWaitingGetWhenTheKeyIsPut) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::get, 2).text("k").i64(1).finish()));
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(say(2, FrameWriter(Kind::put, 2).text("k").text("v").finish()));
  EXPECT_EQ(answers_to(1), Texts{"value v"});
  EXPECT_EQ(answers_to(2), Texts{"done 2"});
}

TEST_F(LedgerTest, EndsAFenceWhenTheLastRankArrives) {
  hello_all();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 5).finish()));
    ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 6).finish()));
    EXPECT_TRUE(answers_.empty());
    ASSERT_TRUE(say(3, FrameWriter(Kind::fence, 7).finish()));
    EXPECT_EQ(answers_to(1), Texts{"done 5"});
    EXPECT_EQ(answers_to(2), Texts{"done 6"});
    EXPECT_EQ(answers_to(3), Texts{"done 7"});
  }
}

TEST_F(LedgerTest, TellsEveryoneOfAFailureAndRefusesWhatCannotComplete) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 5).finish()));
  answers_.clear();
  ledger_.expel(3, answers_);
  EXPECT_EQ(answers_to(1), (Texts{"notice 2", "rank 2 failed, so the processes of the job can never all meet"}));
  EXPECT_EQ(answers_to(2), Texts{"notice 2"});
  EXPECT_EQ(ledger_.presence(2), Presence::failed);
  ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 9).finish()));
  EXPECT_EQ(answers_to(2), Texts{"rank 2 failed, so the processes of the job can never all meet"});
}

TEST_F(LedgerTest, RefusesAKeyWhoseRankIsGoneAndKeepsOtherWaits) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::get, 2).text("a").i64(2).finish()));
  ASSERT_TRUE(say(2, FrameWriter(Kind::get, 2).text("b").i64(0).finish()));
  answers_.clear();
  ledger_.expel(3, answers_);
  EXPECT_EQ(answers_to(1), (Texts{"notice 2", "rank 2 failed, without putting 'a'"}));
  EXPECT_EQ(answers_to(2), Texts{"notice 2"});
}

TEST_F(LedgerTest, EndsAGetFromAnybodyOnlyWhenNobodyElseIsLeft) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::get, 2).text("a").i64(kNoPeer).finish()));
  answers_.clear();
  ledger_.expel(3, answers_);
  EXPECT_EQ(answers_to(1), Texts{"notice 2"});
  answers_.clear();
  ledger_.expel(2, answers_);
  EXPECT_EQ(answers_to(1), (Texts{"notice 1", "rank 2 failed, without putting 'a'"}));
}

TEST_F(LedgerTest, TakesAGoodbyeForLeavingNotForFailing) {
  hello_all();
  ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 3).finish()));
  ASSERT_TRUE(say(1, FrameWriter(Kind::goodbye, 4).u8(1).finish()));
  EXPECT_EQ(answers_to(1), Texts{});
  EXPECT_EQ(answers_to(2), Texts{"rank 0 left the job, so the processes of the job can never all meet"});
  answers_.clear();
  ledger_.disconnected(1);
  ledger_.declare(0, Presence::left, answers_);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(ledger_.presence(0), Presence::left);
}

TEST_F(LedgerTest, SaysOfOneThatNeverJoinedThatItDidNot) {
  hello(0);
  ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 3).finish()));
  answers_.clear();
  ledger_.declare(2, Presence::left, answers_);
  EXPECT_EQ(answers_to(1), Texts{"rank 2 ended before it joined, so the processes of the job can never all meet"});
  answers_.clear();
  ledger_.declare(2, Presence::failed, answers_);
  ASSERT_TRUE(say(1, FrameWriter(Kind::get, 4).text("a").i64(2).finish()));
  EXPECT_EQ(answers_to(1), Texts{"rank 2 failed before it joined, without putting 'a'"});
}

TEST_F(LedgerTest, TakesALostConnectionForNothingUntilTheProcessHasEnded) {
  hello_all();
  ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 3).finish()));
  answers_.clear();
  ledger_.disconnected(1);
  EXPECT_EQ(ledger_.presence(0), Presence::joined);
  EXPECT_TRUE(answers_.empty());
  ledger_.declare(0, Presence::failed, answers_);
  EXPECT_EQ(answers_to(2), (Texts{"notice 0", "rank 0 failed, so the processes of the job can never all meet"}));
}

TEST_F(LedgerTest, TakesTheWordOfOneThatGivesUp) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::goodbye, 4).u8(0).finish()));
  EXPECT_EQ(answers_to(2), Texts{"notice 0"});
  EXPECT_EQ(ledger_.presence(0), Presence::failed);
}

TEST_F(LedgerTest, TellsOfABadEndAlsoAfterLeaving) {
  hello_all();
  ASSERT_TRUE(say(2, FrameWriter(Kind::watch, 0).finish()));
  ASSERT_TRUE(say(1, FrameWriter(Kind::goodbye, 4).u8(1).finish()));
  EXPECT_EQ(answers_to(2), Texts{"notice 0"});
  EXPECT_EQ(answers_to(3), Texts{});
  for (const auto& expected : {Texts{"notice 0"}, Texts{}}) {
    answers_.clear();
    ledger_.declare(0, Presence::failed, answers_);
    EXPECT_EQ(answers_to(2), expected);
    EXPECT_EQ(answers_to(3), expected);
  }
}

TEST_F(LedgerTest, TakesAGoodbyeOfOneItRefusedForNothing) {
  hello(0);
  ASSERT_TRUE(say(9, FrameWriter(Kind::hello, 1).u32(kWireVersion).u32(0).text("job").finish()));
  ASSERT_TRUE(say(9, FrameWriter(Kind::goodbye, 2).u8(0).finish()));
  EXPECT_EQ(ledger_.presence(0), Presence::joined);
  EXPECT_FALSE(say(9, FrameWriter(Kind::goodbye, 2).finish()));
}

TEST_F(LedgerTest, KeepsReportsOfStallsUntilTheyAreTaken) {
  hello_all();
  ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 3).finish())); // also of one that waits here
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(say(2, FrameWriter(Kind::stalled, 0).u32(12).text("barrier").finish()));
  EXPECT_TRUE(answers_.empty());
  const auto stalls = ledger_.take_stalls();
  ASSERT_EQ(stalls.size(), 3U); // one for each rank at most
  EXPECT_EQ(stalls[0].rank, 1U);
  EXPECT_EQ(stalls[0].seconds, 12U);
  EXPECT_EQ(stalls[0].text, "barrier");
  EXPECT_TRUE(ledger_.take_stalls().empty());
  EXPECT_FALSE(say(2, FrameWriter(Kind::stalled, 0).u32(12).finish()));
  EXPECT_FALSE(say(2, FrameWriter(Kind::stalled, 0).u32(12).text(std::string(kLargestReport + 1, 'x')).finish()));
}

TEST_F(LedgerTest, TellsALateComerWhoAlreadyFailed) {
  ledger_.declare(1, Presence::failed, answers_);
  hello(0);
  EXPECT_EQ(answers_to(1), (Texts{"done 1", "notice 1"}));
}

TEST_F(LedgerTest, RefusesWrongHellos) {
  hello(0);
  const auto refusal = [&](std::uint32_t version, std::uint32_t rank, std::string_view job) {
    EXPECT_TRUE(say(9, FrameWriter(Kind::hello, 1).u32(version).u32(rank).text(job).finish()));
    return answers_to(9).at(0);
  };
  EXPECT_EQ(refusal(kWireVersion, 0, "job"), "rank 0 has already joined this job");
  EXPECT_EQ(refusal(kWireVersion, 3, "job"), "rank 3 is outside the job of 3");
  EXPECT_EQ(refusal(kWireVersion, 1, "other"), "the store serves another job");
  EXPECT_EQ(refusal(99, 1, "job"), "the store speaks version 5, this process 99");
}

TEST_F(LedgerTest, ForgetsAWaitThatIsWithdrawn) {
  hello_all();
  ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 2).finish()));
  ASSERT_TRUE(say(1, FrameWriter(Kind::withdraw, 2).finish()));
  ASSERT_TRUE(say(2, FrameWriter(Kind::fence, 2).finish()));
  ASSERT_TRUE(say(3, FrameWriter(Kind::fence, 2).finish()));
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 3).finish()));
  EXPECT_EQ(answers_to(1), Texts{"done 3"});
}

TEST_F(LedgerTest, ClosesClientsThatBreakTheProtocol) {
  EXPECT_FALSE(say(1, FrameWriter(Kind::fence, 1).finish()));
  hello_all();
  EXPECT_FALSE(say(1, FrameWriter(Kind::put, 1).text("").text("v").finish()));
  EXPECT_FALSE(say(1, FrameWriter(Kind::put, 1).u32(5).finish()));
  EXPECT_FALSE(say(1, FrameWriter(Kind::done, 1).finish()));
  ASSERT_TRUE(say(1, FrameWriter(Kind::fence, 1).finish()));
  EXPECT_FALSE(say(1, FrameWriter(Kind::fence, 2).finish()));
}

TEST_F(LedgerTest, SurvivesRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomHistory history(seed);
    for (int step = 0; step < 60; ++step) history.step();
    history.end();
  }
}

} // namespace
} // namespace heddle::store
