// The guest book, over memory that several processes share.
#include "segments/guests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <vector>

namespace heddle::segments {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kLines = 4;
using SmallBook = BasicGuestBook<kLines>;
using SmallGuests = BasicGuests<base::Processor, kLines>;

Guest guest(std::int32_t process, std::uint64_t uid) {
  return {.process = process,
          .uid = uid,
          .segment = {.process = process, .descriptor = 3, .inode = 100 + uid},
          .number = 10 + uid};
}

class GuestBookTest : public testing::Test {
 protected:
  struct Unmap {
    void operator()(SmallBook* book) const { ::munmap(book, sizeof *book); }
  };
  GuestBookTest()
      : book_(static_cast<SmallBook*>(
            ::mmap(nullptr, sizeof(SmallBook), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        guests_(*book_) {}

  void look() {
    arrived_.clear();
    left_.clear();
    guests_.look(
        [this](std::int32_t process) {
          if (patient_) arrived_.push_back(process);
          return patient_;
        },
        [this](const Guest& guest) {
          if (patient_) left_.push_back(guest.uid);
          return patient_;
        });
  }
  [[nodiscard]] std::size_t free_lines() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(book_->lines, [](const GuestLine& line) { return line.process == GuestLine::kFree; }));
  }

  std::unique_ptr<SmallBook, Unmap> book_;
  SmallGuests guests_;
  bool patient_ = true; // false: it is to be told later
  std::vector<std::int32_t> arrived_;
  std::vector<std::uint64_t> left_;
};

TEST_F(GuestBookTest, TellsOfEachThatComesAndGoesOnce) {
  EXPECT_FALSE(guests_.changed());
  const auto line = book_->sign(guest(7, 1));
  ASSERT_TRUE(line);
  EXPECT_TRUE(guests_.changed());
  look();
  EXPECT_THAT(arrived_, ElementsAre(7));
  EXPECT_FALSE(guests_.changed());
  look();
  EXPECT_THAT(arrived_, IsEmpty());
  book_->strike_out(*line);
  EXPECT_TRUE(guests_.changed());
  EXPECT_EQ(free_lines(), kLines - 1) << "not before the host has seen it";
  look();
  EXPECT_THAT(left_, ElementsAre(1));
  EXPECT_EQ(free_lines(), kLines);
  look();
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(GuestBookTest, TellsAgainWhatCouldNotBeTold) {
  patient_ = false;
  const auto line = book_->sign(guest(7, 1));
  look();
  EXPECT_TRUE(guests_.changed());
  patient_ = true;
  look();
  EXPECT_THAT(arrived_, ElementsAre(7));
  EXPECT_FALSE(guests_.changed());
  book_->strike_out(*line);
  patient_ = false;
  look();
  EXPECT_TRUE(guests_.changed());
  EXPECT_EQ(free_lines(), kLines - 1);
  patient_ = true;
  look();
  EXPECT_THAT(left_, ElementsAre(1));
}

TEST_F(GuestBookTest, HasSoManyLines) {
  for (std::uint32_t i = 0; i < kLines; ++i) EXPECT_EQ(book_->sign(guest(7, 1 + i)), i);
  look();
  EXPECT_FALSE(book_->sign(guest(7, 99)));
  EXPECT_TRUE(guests_.changed()) << "the host is to look whether a line is one of the dead";
  book_->strike_out(2);
  EXPECT_FALSE(book_->sign(guest(7, 99)));
  look();
  EXPECT_EQ(book_->sign(guest(7, 99)), 2U);
}

TEST_F(GuestBookTest, FreesTheLinesOfADeadProcessAndOfNoOther) {
  ASSERT_TRUE(book_->sign(guest(7, 1)));
  ASSERT_TRUE(book_->sign(guest(8, 2)));
  ASSERT_TRUE(book_->sign(guest(7, 3)));
  const auto gone = book_->sign(guest(7, 4));
  look();
  book_->strike_out(*gone);
  std::vector<std::uint64_t> dead;
  guests_.ended(7, [&](const Guest& each) {
    EXPECT_EQ(each.process, 7);
    EXPECT_EQ(each.number, 10 + each.uid);
    dead.push_back(each.uid);
  });
  EXPECT_THAT(dead, ElementsAre(1, 3));
  look();
  EXPECT_THAT(left_, ElementsAre(4)) << "it had left before";
  EXPECT_EQ(free_lines(), kLines - 1);
}

TEST_F(GuestBookTest, ClosesTheGateOfWhoIsTurnedAwayAndOpensItForTheNext) {
  const auto one = book_->sign(guest(7, 1));
  const auto other = book_->sign(guest(7, 2));
  look();
  guests_.turn_away(7, 101);
  EXPECT_FALSE(GatedAccess(book_->lines[*one].gate).allowed());
  EXPECT_TRUE(GatedAccess(book_->lines[*other].gate).allowed());
  book_->strike_out(*one);
  look();
  ASSERT_EQ(book_->sign(guest(9, 3)), *one);
  EXPECT_TRUE(GatedAccess(book_->lines[*one].gate).allowed());
  guests_.turn_all_away();
  for (GuestLine& line : book_->lines) EXPECT_FALSE(GatedAccess(line.gate).allowed());
}

TEST_F(GuestBookTest, KnowsTheSegmentsOfThoseWhoAreThere) {
  ASSERT_TRUE(book_->sign(guest(7, 1)));
  const auto gone = book_->sign(guest(8, 2));
  book_->strike_out(*gone);
  book_->lines[2].process = 9; // it is signing
  std::vector<std::uint64_t> inodes;
  guests_.each_segment([&](const SegmentName& name) {
    EXPECT_EQ(name.process, 7);
    EXPECT_EQ(name.descriptor, 3);
    inodes.push_back(name.inode);
  });
  EXPECT_THAT(inodes, ElementsAre(101));
}

// Kills the process before one of its accesses to shared memory.
struct DeadlyMemory : base::Processor {
  static inline std::uint32_t steps_left = 0;
  static void step() {
    if (--steps_left == 0) ::raise(SIGKILL);
  }
  template <typename Word>
  static Word load(const std::atomic<Word>& word, std::memory_order order) {
    step();
    return word.load(order);
  }
  template <typename Word>
  static void store(std::atomic<Word>& word, Word value, std::memory_order order) {
    step();
    word.store(value, order);
  }
  template <typename Word>
  static Word fetch_add(std::atomic<Word>& word, Word value, std::memory_order order) {
    step();
    return word.fetch_add(value, order);
  }
  static bool compare_exchange(std::atomic<std::uint64_t>& word, std::uint64_t& expected, std::uint64_t value,
                               std::memory_order order) {
    step();
    return word.compare_exchange_strong(expected, value, order);
  }
};

// A process dies before each access of signing and leaving. When the next guest comes, the host learns of the process, and once
// that has ended its line is free.
TEST_F(GuestBookTest, KeepsNoLineForOneThatDiesAtAnyStep) {
  constexpr std::int32_t kNext = 1 << 30;
  bool lived = false;
  for (std::uint32_t step = 1; !lived; ++step) {
    SCOPED_TRACE(step);
    const pid_t child = ::fork();
    if (child == 0) {
      DeadlyMemory::steps_left = step;
      const auto line = book_->sign<DeadlyMemory>(guest(::getpid(), 1));
      book_->strike_out<DeadlyMemory>(*line);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    lived = WIFEXITED(status);
    const auto next = book_->sign(guest(kNext, 2));
    ASSERT_TRUE(next);
    look();
    const bool known = std::ranges::find(arrived_, child) != arrived_.end();
    if (known) {
      EXPECT_TRUE(has_ended(child));
      guests_.ended(child, [](const Guest&) {});
    }
    EXPECT_EQ(free_lines(), kLines - 1);
    book_->strike_out(*next);
    look();
    EXPECT_EQ(free_lines(), kLines);
    ASSERT_LT(step, 50U);
  }
}

// All lines are of such, and nobody else gets in to tell of them.
TEST_F(GuestBookTest, IsNotFilledByThoseWhoDiedSigning) {
  for (std::uint32_t i = 0; i < kLines; ++i) book_->lines[i].process = 7;
  EXPECT_FALSE(guests_.changed());
  EXPECT_FALSE(book_->sign(guest(8, 2)));
  ASSERT_TRUE(guests_.changed());
  look();
  EXPECT_THAT(arrived_, ElementsAre(7, 7, 7, 7));
  guests_.ended(7, [](const Guest& each) { EXPECT_EQ(each.uid, 0U) << "of which nobody was told"; });
  EXPECT_TRUE(book_->sign(guest(8, 2)));
}

} // namespace
} // namespace heddle::segments
