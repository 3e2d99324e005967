#include "onesided/locks/lock_memory.hpp"

#include <gtest/gtest.h>

#include <set>

namespace heddle::onesided {
namespace {

constexpr std::uint32_t kSize = 5;

// A lock's memory as the test wants it.
struct Memory {
  LockLayout layout{.size = kSize};
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(layout.bytes() / 8);

  Memory& state(std::uint32_t next, std::uint32_t serving) {
    words[0] = LockState{.next = next, .serving = serving}.pack();
    return *this;
  }
  Memory& claim(std::uint32_t ticket, std::uint32_t rank, bool holds = false) {
    words[layout.claim(ticket) / 8] = LockClaim::pack(ticket, rank, holds);
    return *this;
  }
  Memory& deaths(std::uint32_t before) {
    words[LockLayout::kDeaths / 8] = kDeathMark | before;
    return *this;
  }
  Memory& trying(std::uint32_t rank) {
    words[layout.trying(rank) / 8] = 1;
    return *this;
  }
  [[nodiscard]] LockReading reading() const { return {layout, words}; }
};

LockVerdict judge(const Memory& before, const Memory& now, std::uint32_t ticket, const std::set<std::uint32_t>& dead) {
  return judge_lock(before.reading(), now.reading(), ticket,
                    [&dead](std::uint32_t rank) { return dead.contains(rank); });
}

using Kind = LockVerdict::Kind;

TEST(LockMemory, CountsTicketsWithoutACarry) {
  for (const std::uint32_t ticket : {0U, 1U, 0x7fff'ffffU, 0xffff'ffffU}) {
    const LockState state{.next = ticket + 3, .serving = ticket};
    const LockState after = LockState::unpack(state.pack() + LockState::serve_next(ticket));
    EXPECT_EQ(after.serving, ticket + 1);
    EXPECT_EQ(after.next, ticket + 3);
    EXPECT_EQ(LockState::unpack(state.pack() + LockState::kTakeTicket).serving, ticket);
  }
}

TEST(LockMemory, KnowsWhoWaitedThroughADeath) {
  EXPECT_FALSE(waited_through_death(0, 0, 8));
  EXPECT_TRUE(waited_through_death(kDeathMark | 5, 4, 8));
  EXPECT_FALSE(waited_through_death(kDeathMark | 5, 5, 8));
  EXPECT_TRUE(waited_through_death(kDeathMark | 1, 0xffff'ffffU, 8));
  EXPECT_FALSE(waited_through_death(kDeathMark | 5, 5 + 0x8000'0000U, 8)); // long ago
}

TEST(LockMemory, AWaiterWithoutDeadBeforeItWaits) {
  const auto memory = Memory().state(7, 5).claim(5, 0, true).claim(6, 1);
  EXPECT_EQ(judge(memory, memory, 6, {}).kind, Kind::wait);
  EXPECT_EQ(judge(memory, memory, 6, {1, 2, 3}).kind, Kind::wait);
}

TEST(LockMemory, AServedTicketIsSeen) {
  const auto memory = Memory().state(7, 6).claim(6, 1);
  EXPECT_EQ(judge(memory, memory, 6, {0}).kind, Kind::mine);
}

TEST(LockMemory, ADeadHolderIsPassedOverAndCounts) {
  const auto memory = Memory().state(7, 5).claim(5, 0, true).claim(6, 1);
  EXPECT_EQ(judge(memory, memory, 6, {0}).kind, Kind::pass_over);
  EXPECT_TRUE(judge(memory, memory, 6, {0}).held);
}

TEST(LockMemory, ADeadWaiterIsPassedOverInItsTurnAndDoesNotCount) {
  const auto waits = Memory().state(8, 5).claim(5, 0, true).claim(6, 2).claim(7, 1);
  EXPECT_EQ(judge(waits, waits, 7, {2}).kind, Kind::stay_alert);
  const auto turn = Memory().state(8, 6).claim(6, 2).claim(7, 1);
  EXPECT_EQ(judge(turn, turn, 7, {2}).kind, Kind::pass_over);
  EXPECT_FALSE(judge(turn, turn, 7, {2}).held);
}

// Ranks 0 and 2 are dead, the second before it knew that it held the lock and could have mended what the first has left.
TEST(LockMemory, ADeathThatADeadOneWasToHearOfIsPassedOn) {
  const auto memory = Memory().state(8, 6).claim(6, 2).claim(7, 1).deaths(7);
  EXPECT_EQ(judge(memory, memory, 7, {0, 2}).kind, Kind::pass_over);
  EXPECT_TRUE(judge(memory, memory, 7, {0, 2}).held);
  const auto later = Memory().state(8, 6).claim(6, 2).claim(7, 1).deaths(6);
  EXPECT_FALSE(judge(later, later, 7, {0, 2}).held);
}

TEST(LockMemory, OneWithoutATicketJudgesAsIfItHadTheNext) {
  EXPECT_EQ(judge(Memory().state(6, 6), Memory().state(6, 6), 6, {0}).kind, Kind::mine); // free
  const auto dead = Memory().state(6, 5).claim(5, 0, true);
  EXPECT_EQ(judge(dead, dead, 6, {0}).kind, Kind::pass_over);
  EXPECT_EQ(judge(dead, dead, 6, {1}).kind, Kind::wait);
  const auto living_waiter = Memory().state(7, 5).claim(5, 3, true).claim(6, 0);
  EXPECT_EQ(judge(living_waiter, living_waiter, 7, {3}).kind, Kind::pass_over);
  EXPECT_EQ(judge(living_waiter, living_waiter, 7, {0}).kind, Kind::stay_alert);
}

TEST(LockMemory, ATicketNobodyClaimsIsADeadOnesWhenNoLivingTriesAny) {
  const auto memory = Memory().state(7, 5).claim(6, 1).trying(2);
  EXPECT_EQ(judge(memory, memory, 6, {2}).kind, Kind::pass_over);
  EXPECT_TRUE(judge(memory, memory, 6, {2}).held);                // as far as anybody can tell
  EXPECT_EQ(judge(memory, memory, 6, {}).kind, Kind::stay_alert); // rank 2 is slow
  const auto two = Memory().state(7, 5).claim(6, 1).trying(2).trying(3);
  EXPECT_EQ(judge(two, two, 6, {2}).kind, Kind::stay_alert); // it may be rank 3's
}

TEST(LockMemory, OneReadingIsNotEnoughForATicketNobodyClaims) {
  const auto now = Memory().state(7, 5).claim(6, 1);
  EXPECT_EQ(judge_lock({}, now.reading(), 6, [](std::uint32_t rank) { return rank == 2; }).kind, Kind::stay_alert);
  // Nor one made before the ticket was taken.
  const auto early = Memory().state(5, 5);
  EXPECT_EQ(judge(early, now, 6, {2}).kind, Kind::stay_alert);
}

TEST(LockMemory, AClaimOfAnEarlierLapIsNone) {
  const auto memory = Memory().state(15, 13).claim(13 - 8, 0, true).claim(14, 1).trying(3);
  EXPECT_EQ(judge(memory, memory, 14, {0}).kind, Kind::stay_alert);
}

} // namespace
} // namespace heddle::onesided
