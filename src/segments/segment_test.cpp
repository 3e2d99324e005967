#include "segments/segment.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <vector>

namespace heddle::segments {
namespace {

constexpr std::size_t kBytes = 1U << 20U;

Segment make(std::size_t bytes = kBytes) {
  auto segment = Segment::create(bytes);
  EXPECT_TRUE(segment) << segment.error().message();
  return std::move(*segment);
}

SegmentName name_of(const Segment& segment) {
  return {.process = ::getpid(), .descriptor = segment.descriptor(), .inode = segment.inode()};
}

TEST(Segment, CannotBeShrunkOrGrownByAnybody) {
  const Segment segment = make();
  const std::string path = "/proc/self/fd/" + std::to_string(segment.descriptor());
  const base::Descriptor other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(other.open());
  for (const int file : {segment.descriptor(), other.number()}) {
    EXPECT_EQ(::ftruncate(file, 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(file, 2 * kBytes), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1) << "nor made read-only";
  }
}

TEST(Segment, IsSeenAlikeByAllThatMapIt) {
  Segment segment = make();
  const auto place = segment.allocate(100);
  ASSERT_TRUE(place);
  const auto mapping = map_segment(name_of(segment));
  ASSERT_TRUE(mapping) << mapping.error().message();
  EXPECT_NE(mapping->data(), segment.mapping().data());
  mapping->data()[*place] = std::byte{42};
  EXPECT_EQ(segment.mapping().data()[*place], std::byte{42});
}

void expect_unreachable(const SegmentName& name, std::string_view fact) {
  const auto mapping = map_segment(name);
  ASSERT_FALSE(mapping);
  EXPECT_EQ(mapping.error().code, ErrorCode::unreachable);
  EXPECT_NE(mapping.error().fact.find(fact), std::string::npos) << mapping.error().message();
  EXPECT_NE(mapping.error().remedy, "");
}

TEST(Segment, OfAnotherInodeOrDescriptorIsNotMapped) {
  const Segment segment = make();
  SegmentName wrong = name_of(segment);
  wrong.inode += 1;
  expect_unreachable(wrong, "is not the peer that published");
  wrong = name_of(segment);
  wrong.descriptor = 9999;
  expect_unreachable(wrong, "cannot be opened");
  wrong = name_of(segment);
  wrong.descriptor = -1;
  expect_unreachable(wrong, "cannot be opened");
  for (const std::int32_t process : {-1, 0, 0x7fff'ffff}) {
    wrong = name_of(segment);
    wrong.process = process;
    expect_unreachable(wrong, "cannot be opened");
  }
}

TEST(Segment, WithAnotherMarkIsNotMapped) {
  const Segment segment = make();
  segment.mapping().header().mark += 1;
  expect_unreachable(name_of(segment), "runs another version");
}

// A file that could shrink under the mapping would end this process by SIGBUS.
TEST(Segment, ThatCouldShrinkIsNotMapped) {
  const Segment segment = make();
  const std::string path = ::testing::TempDir() + "heddle_segment_" + std::to_string(::getpid());
  const base::Descriptor plain(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(plain.open());
  ::unlink(path.c_str());
  const base::Descriptor unsealed(::memfd_create("heddle_test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  for (const base::Descriptor* file : {&plain, &unsealed}) {
    ASSERT_EQ(::ftruncate(file->number(), kBytes), 0);
    ASSERT_EQ(::pwrite(file->number(), &segment.mapping().header(), sizeof(SegmentHeader), 0),
              static_cast<ssize_t>(sizeof(SegmentHeader)));
    struct stat status{};
    ASSERT_EQ(::fstat(file->number(), &status), 0);
    expect_unreachable({.process = ::getpid(), .descriptor = file->number(), .inode = status.st_ino},
                       "is not the peer that published");
  }
}

TEST(Segment, VanishesWithItsLastUser) {
  SegmentName name;
  {
    const Segment segment = make();
    name = name_of(segment);
    ASSERT_TRUE(map_segment(name));
  }
  EXPECT_FALSE(map_segment(name));
}

// Pieces taken, by offset, next to the segment's own bookkeeping.
struct Piece {
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  std::byte mark{};
};

bool intact(const Segment& segment, const Piece& piece) {
  const std::byte* data = segment.mapping().data() + piece.offset;
  return std::all_of(data, data + piece.bytes, [&](std::byte byte) { return byte == piece.mark; });
}

TEST(Segment, RandomAllocationsDoNotOverlapAndAllOfItComesBack) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Segment segment = make();
  std::vector<Piece> pieces;
  std::size_t refusals = 0;
  for (int i = 0; i < 5000; ++i) {
    if (!pieces.empty() && random() % 5 < 2) {
      const std::size_t index = random() % pieces.size();
      ASSERT_TRUE(intact(segment, pieces[index]));
      segment.deallocate(pieces[index].offset);
      pieces[index] = pieces.back();
      pieces.pop_back();
      continue;
    }
    const std::size_t bytes = random() % (std::size_t{1} << (1 + random() % 16));
    const auto offset = segment.allocate(bytes);
    if (!offset) {
      ASSERT_EQ(offset.error().code, ErrorCode::out_of_memory);
      ++refusals;
      continue;
    }
    ASSERT_EQ(*offset % 64, 0U);
    ASSERT_LE(*offset + bytes, kBytes);
    ASSERT_TRUE(intact(segment, {.offset = *offset, .bytes = bytes, .mark = std::byte{0}})) << "not zeroed";
    const Piece piece{.offset = *offset, .bytes = bytes, .mark = static_cast<std::byte>(1 + random() % 255)};
    std::fill_n(segment.mapping().data() + piece.offset, bytes, piece.mark);
    pieces.push_back(piece);
  }
  EXPECT_GT(refusals, 0U) << "the test never filled the segment";
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(intact(segment, piece));
    segment.deallocate(piece.offset);
  }
  const auto whole = segment.allocate(kBytes - sizeof(SegmentHeader));
  EXPECT_TRUE(whole) << "freed pieces were not merged";
  EXPECT_EQ(segment.mapping().header().mark, kSegmentMark);
}

TEST(Segment, MergesWithTheFreePieceBeforeAfterAndOnBothSides) {
  for (const auto& order :
       std::vector<std::vector<std::size_t>>{{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}}) {
    Segment segment = make(sizeof(SegmentHeader) + 3 * 4096);
    std::vector<std::uint64_t> places;
    for (int i = 0; i < 3; ++i) places.push_back(*segment.allocate(4096));
    ASSERT_FALSE(segment.allocate(1));
    for (const std::size_t index : order) segment.deallocate(places[index]);
    EXPECT_TRUE(segment.allocate(3 * 4096));
  }
}

TEST(Segment, GivenBackTwiceOrNeverTakenIsHarmless) {
  Segment segment = make();
  const auto first = segment.allocate(64);
  const auto second = segment.allocate(64);
  segment.deallocate(*first);
  segment.deallocate(*first);
  segment.deallocate(*second + 8);
  segment.deallocate(~std::uint64_t{0});
  const auto third = segment.allocate(64);
  const auto fourth = segment.allocate(64);
  EXPECT_NE(*third, *second);
  EXPECT_NE(*fourth, *second);
  EXPECT_NE(*third, *fourth);
}

// fallocate ends with EINTR at a signal; that is not a lack of memory.
TEST(Segment, AllocatesUnderASteadyStreamOfSignals) {
  struct sigaction handler{};
  struct sigaction before{};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &handler, &before), 0);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 2000}, .it_value = {.tv_sec = 0, .tv_usec = 2000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  for (int i = 0; i < 5; ++i) {
    Segment segment = make(std::size_t{65} << 20U);
    const auto place = segment.allocate(std::size_t{64} << 20U);
    EXPECT_TRUE(place) << place.error().message();
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

// Taken bit by bit, it would be the end of other programs first.
TEST(Segment, TakesNothingWhereTheMachineHasNotEnough) {
  constexpr std::size_t kHuge = std::size_t{1} << 44U;
  auto segment = Segment::create(kHuge + (1U << 20U));
  if (!segment) GTEST_SKIP() << segment.error().message(); // a limit of the address space
  struct stat before{};
  ::fstat(segment->descriptor(), &before);
  const auto taken = segment->allocate(kHuge);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::out_of_memory);
  struct stat after{};
  ::fstat(segment->descriptor(), &after);
  EXPECT_EQ(after.st_blocks, before.st_blocks);
  EXPECT_TRUE(segment->allocate(4096));
}

} // namespace
} // namespace heddle::segments
