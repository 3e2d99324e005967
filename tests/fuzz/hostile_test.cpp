// What fuzzing has found, one by one and by hand.
#include "pattern/meeting.hpp"
#include "pattern/patterns.hpp"
#include "pattern/wire.hpp"
#include "tests/fuzz/hostile_job.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

namespace heddle::fuzz {
namespace {

// The peers' memory is direct, as on shared memory.
constexpr std::array kSharedMemory{std::byte{2 + 4 + 8 + 16}};

class HostilePartner : public testing::Test {
 protected:
  static constexpr std::uint32_t kPartner = 2;

  HostilePartner() {
    for (const std::uint32_t peer : {0U, 2U, 3U}) job_.connect(peer);
    job_.also([this] { patterns_.progress(); });
    one_ = patterns_.create({}).value();
  }
  template <typename... Parts>
  void say(pattern::Topic topic, const Parts&... parts) {
    std::vector<std::byte> bytes;
    const auto append = [&bytes](const auto& part) {
      const auto more = std::as_bytes(std::span(&part, 1));
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    (append(parts), ...);
    job_.say(kPartner, engine::RecordKind::eager, engine::Channel::pattern,
             static_cast<std::uint64_t>(pattern::tag_of(1, 0, topic)), bytes);
    job_.progress(4);
  }
  // The others of the job meet with this process; the compile goes on.
  void meet(std::uint32_t serial) {
    const std::byte nothing{};
    for (const auto& [peer, round] : {std::pair(0U, 0U), std::pair(3U, 1U)}) {
      job_.say(peer, engine::RecordKind::eager, engine::Channel::pattern,
               static_cast<std::uint64_t>(pattern::tag_of(serial, 1, pattern::Topic::meeting, round)),
               std::span(&nothing, 1));
      job_.progress(4);
    }
  }
  // The partner has matched all that is sent synchronously: the names are among the words that were written to it.
  void match_all() {
    for (std::size_t i = 0; i < 32; ++i) {
      const auto finished = engine::Finish::of(job_.network().seen(i), 1);
      job_.say(kPartner, engine::RecordKind::finish, engine::Channel::program, 0,
               std::as_bytes(std::span(&finished, 1)));
      job_.progress();
    }
  }
  void declare(pattern::Declared::Kind kind) {
    ASSERT_TRUE(one_->declare(
        {.kind = kind, .rank = kPartner, .tag = 1, .source = ConstLayout(memory_), .target = Layout(memory_)}));
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(200);
  Input input_{kSharedMemory};
  HostileJob job_{input_};
  pattern::Patterns patterns_{job_.engine()};
  pattern::PlannedPattern* one_ = nullptr;
};

TEST_F(HostilePartner, WhoAnnouncesMoreWantsThanThereCanBeIsNotBelieved) {
  declare(pattern::Declared::Kind::receive);
  const auto compiled = one_->compile({});
  ASSERT_TRUE(compiled);
  say(pattern::Topic::header, pattern::Header{.count = std::uint64_t{1} << 57U});
  say(pattern::Topic::header, pattern::Header{.count = 1}, std::uint64_t{0}); // longer than a header is
  job_.finish();
  ASSERT_TRUE(one_->error());
  EXPECT_EQ(one_->error()->fact, "rank 2 sent a malformed message about the pattern");
}

TEST_F(HostilePartner, WhoAnnouncesManyWantsIsGivenNoMemoryForThemAhead) {
  declare(pattern::Declared::Kind::receive);
  ASSERT_TRUE(one_->compile({}));
  const auto in_use = [] { // zero under a sanitizer, which has memory of its own
    const struct mallinfo2 heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
  };
  const std::size_t before = in_use();
  say(pattern::Topic::header, pattern::Header{.count = pattern::kMostItems});
  EXPECT_LT(in_use(), before + (1U << 20U));
  job_.finish();
  EXPECT_TRUE(one_->error());
}

TEST_F(HostilePartner, WhoAnnouncesNoWantsSendsNone) {
  declare(pattern::Declared::Kind::expose);
  ASSERT_TRUE(one_->compile({}));
  say(pattern::Topic::header, pattern::Header{.count = 0});
  match_all();
  meet(1);
  meet(1 | 0x8000'0000U);
  EXPECT_FALSE(one_->running());
  job_.finish();
}

TEST_F(HostilePartner, WhoAnnouncesItsWantsTwiceIsNotBelieved) {
  declare(pattern::Declared::Kind::receive);
  ASSERT_TRUE(one_->compile({}));
  say(pattern::Topic::header, pattern::Header{.count = 1});
  say(pattern::Topic::header, pattern::Header{.count = 1});
  job_.finish();
  ASSERT_TRUE(one_->error());
  EXPECT_EQ(one_->error()->fact, "rank 2 sent a malformed message about the pattern");
}

TEST_F(HostilePartner, WhoGivesASlotThatWhatIsSentDoesNotFitIntoIsNotBelieved) {
  declare(pattern::Declared::Kind::send);
  ASSERT_TRUE(one_->compile({}));
  job_.progress();
  match_all();
  meet(1);
  constexpr ir::RemotePlace kLast{.key = HostileNetwork::kPeerMemory, .offset = HostileNetwork::kPeerBytes - 128};
  say(pattern::Topic::answer, pattern::Header{.count = 1, .line = kLast},
      pattern::Answer{.way = pattern::Delivery::record, .place = kLast, .slot = 64});
  meet(1 | 0x8000'0000U);
  ASSERT_TRUE(one_->error());
  EXPECT_EQ(one_->error()->fact, "rank 2 sent a malformed message about the pattern");
  EXPECT_FALSE(one_->start({}));
  job_.finish();
}

} // namespace
} // namespace heddle::fuzz
