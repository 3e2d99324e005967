// Frames are the same however the stream was cut.
#include "translators/tcp/inflow.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace heddle::translators::tcp {
namespace {

struct Taken {
  Frame frame;
  std::vector<std::byte> head;
  std::vector<std::byte> payload;
};

// Keeps all that comes.
class Keeper final : public FrameTaker {
 public:
  bool begin(const Frame& frame, std::span<const std::byte> head) override {
    taken.push_back(
        {.frame = frame, .head = {head.begin(), head.end()}, .payload = std::vector<std::byte>(frame.bytes)});
    return !refuses;
  }
  std::byte* payload_target(const Frame& frame, std::uint64_t done) override {
    EXPECT_LT(done + kTailBytes, frame.bytes + 1) << "the tail is given at the end";
    return drops ? nullptr : taken.back().payload.data() + done;
  }
  void end(const Frame& frame, std::span<const std::byte> head, std::span<const std::byte> tail) override {
    Taken& last = taken.back();
    EXPECT_EQ(std::memcmp(&last.frame, &frame, sizeof frame), 0);
    EXPECT_EQ(head.size(), last.head.size());
    if (!tail.empty()) std::memcpy(last.payload.data() + last.payload.size() - tail.size(), tail.data(), tail.size());
    ++ended;
  }

  std::vector<Taken> taken;
  std::size_t ended = 0;
  bool refuses = false;
  bool drops = false;
};

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void append(std::vector<std::byte>& stream, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  stream.insert(stream.end(), from, from + bytes);
}

Taken random_frame(std::mt19937_64& random) {
  constexpr std::array kKinds{FrameKind::put,           FrameKind::get,    FrameKind::compare_and_swap,
                              FrameKind::fetch_and_add, FrameKind::answer, FrameKind::attach,
                              FrameKind::detach,        FrameKind::goodbye};
  Taken made;
  made.frame = {.kind = kKinds.at(random() % kKinds.size()),
                .flags = static_cast<std::uint8_t>(random() % 16),
                .number = static_cast<std::uint32_t>(random()),
                .key = random(),
                .offset = random(),
                .operand = random()};
  const bool with_payload = made.frame.kind == FrameKind::put || made.frame.kind == FrameKind::answer;
  if (with_payload) made.frame.bytes = random() % 3 == 0 ? random() % 20'000 : random() % 200;
  if (made.frame.kind == FrameKind::put)
    made.frame.head_bytes = static_cast<std::uint16_t>(random() % (ir::kHeadBytes + 1));
  if (made.frame.kind == FrameKind::compare_and_swap) made.frame.head_bytes = 8;
  made.head = random_bytes(random, made.frame.head_bytes);
  made.payload = random_bytes(random, with_payload ? made.frame.bytes : 0);
  return made;
}

TEST(Inflow, GivesTheSameFramesHoweverTheStreamIsCut) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Taken> sent;
    std::vector<std::byte> stream;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(random_frame(random));
      append(stream, &sent.back().frame, sizeof(Frame));
      append(stream, sent.back().head.data(), sent.back().head.size());
      append(stream, sent.back().payload.data(), sent.back().payload.size());
    }
    Keeper keeper;
    Inflow inflow;
    const std::size_t longest = seed % 4 == 0 ? 1 : seed % 4 == 1 ? 60 : seed % 4 == 2 ? 5000 : 100'000;
    for (std::span<const std::byte> rest = stream; !rest.empty();) {
      const std::size_t count = std::min<std::size_t>(rest.size(), 1 + random() % longest);
      ASSERT_TRUE(inflow.take(rest.first(count), keeper));
      rest = rest.subspan(count);
    }
    ASSERT_EQ(keeper.taken.size(), sent.size());
    ASSERT_EQ(keeper.ended, sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(std::memcmp(&keeper.taken[i].frame, &sent[i].frame, sizeof(Frame)), 0);
      EXPECT_EQ(keeper.taken[i].head, sent[i].head);
      EXPECT_TRUE(sent[i].payload.empty() || keeper.taken[i].payload == sent[i].payload);
    }
  }
}

TEST(Inflow, DropsPayloadThatHasNoTarget) {
  std::vector<std::byte> stream;
  const Frame put{.kind = FrameKind::put, .bytes = 10'000};
  const Frame goodbye{.kind = FrameKind::goodbye};
  append(stream, &put, sizeof put);
  stream.resize(stream.size() + put.bytes);
  append(stream, &goodbye, sizeof goodbye);
  Keeper keeper;
  keeper.drops = true;
  Inflow inflow;
  EXPECT_TRUE(inflow.take(stream, keeper));
  EXPECT_EQ(keeper.ended, 2U);
}

TEST(Inflow, RefusesWhatIsNoFrame) {
  const auto refused = [](const Frame& frame) {
    Keeper keeper;
    Inflow inflow;
    const bool taken = inflow.take(std::as_bytes(std::span(&frame, 1)), keeper);
    EXPECT_TRUE(taken || keeper.taken.empty());
    return !taken;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({.kind = static_cast<FrameKind>(9)}));
  EXPECT_TRUE(refused({.kind = static_cast<FrameKind>(255)}));
  EXPECT_TRUE(refused({.kind = FrameKind::put, .head_bytes = ir::kHeadBytes + 1}));
  EXPECT_TRUE(refused({.kind = FrameKind::get, .head_bytes = 1}));
  EXPECT_TRUE(refused({.kind = FrameKind::put, .bytes = kLargestTransfer + 1}));
  EXPECT_TRUE(refused({.kind = FrameKind::answer, .bytes = ~std::uint64_t{0}}));
  EXPECT_FALSE(refused({.kind = FrameKind::put, .bytes = kLargestTransfer}));
  EXPECT_FALSE(refused({.kind = FrameKind::goodbye}));
}

TEST(Inflow, EndsWhereItsTakerRefuses) {
  Keeper keeper;
  keeper.refuses = true;
  Inflow inflow;
  const Frame goodbye{.kind = FrameKind::goodbye};
  EXPECT_FALSE(inflow.take(std::as_bytes(std::span(&goodbye, 1)), keeper));
}

} // namespace
} // namespace heddle::translators::tcp
