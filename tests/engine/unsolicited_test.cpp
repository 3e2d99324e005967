// Memory of unsolicited messages: bounded, with back-pressure to the sender, and never the end of a connection.
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace heddle::tests {
namespace {

constexpr std::uint64_t kBound = 64 << 10;

struct Way {
  const char* name;
  Shape shape;
  bool shared = false;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class Unsolicited : public testing::TestWithParam<Way> {
 protected:
  Unsolicited() {
    engine::Limits limits = usual_limits();
    limits.unsolicited_memory = kBound;
    if (GetParam().shared) limits.ring_memory = limits.ring_bytes;
    cluster_ = std::make_unique<Cluster>(2, limits, GetParam().shape);
  }
  engine::Engine& at(std::uint32_t rank) { return (*cluster_)[rank]; }
  std::uint64_t held() { return cluster_->node(0).figure("unsolicited memory bytes"); }
  // Polls once, keeps what has arrived.
  void poll() {
    std::array<Event, 16> events;
    for (std::size_t count = at(0).take_events(events); count > 0; --count) {
      ASSERT_EQ(events[count - 1].kind, Event::Kind::unsolicited_arrived);
      arrivals_.push_back(events[count - 1]);
    }
  }
  void release_all() {
    for (const Event& event : std::exchange(arrivals_, {})) at(0).release(event.unsolicited.handle);
  }
  ErrorCode finish(std::uint32_t rank, Request request) {
    for (int i = 0; i < 100'000; ++i) {
      if (const auto completion = at(rank).take_completion(request)) return completion->code;
      cluster_->progress();
    }
    return ErrorCode::timed_out;
  }

  std::unique_ptr<Cluster> cluster_;
  std::vector<Event> arrivals_;
};

TEST_P(Unsolicited, FloodsWaitForWhatIsReleasedAndLoseNothing) {
  constexpr std::uint64_t kMessages = 300;
  std::vector<std::vector<std::byte>> data;
  std::vector<Request> sent;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    data.emplace_back(i % 10 == 9 ? 9000 : 1000, static_cast<std::byte>(i));
    sent.push_back(*at(1).send_unsolicited({.to = Rank{0}, .tag = Tag{i}}, data.back()));
  }
  const std::uint64_t word = 7;
  const Request last = *at(1).send({.to = Rank{0}, .tag = Tag{1}}, ConstLayout(&word, sizeof word));
  cluster_->settle();
  EXPECT_LE(held(), kBound);
  EXPECT_GT(held(), kBound / 2);
  EXPECT_NE(at(0).waiting_for().find("poll and release"), std::string::npos);
  std::vector<bool> seen(kMessages, false);
  std::uint64_t arrived = 0;
  for (int round = 0; round < 10'000 && arrived < kMessages; ++round) {
    cluster_->settle();
    ASSERT_LE(held(), kBound);
    poll();
    ASSERT_FALSE(arrivals_.empty()) << arrived << " have arrived\n" << at(0).waiting_for();
    for (const Event& event : arrivals_) {
      const auto number = static_cast<std::uint64_t>(event.completion.tag);
      ASSERT_LT(number, kMessages);
      EXPECT_FALSE(seen[number]);
      seen[number] = true;
      ASSERT_EQ(event.unsolicited.bytes, data[number].size());
      EXPECT_EQ(std::memcmp(event.unsolicited.data, data[number].data(), event.unsolicited.bytes), 0);
      ++arrived;
    }
    release_all();
  }
  EXPECT_EQ(arrived, kMessages);
  for (const Request request : sent) EXPECT_EQ(finish(1, request), ErrorCode::ok);
  std::uint64_t got = 0;
  const Request received = *at(0).receive({.source = Rank{1}, .tag = Tag{1}}, Layout(&got, sizeof got), {});
  EXPECT_EQ(finish(0, received), ErrorCode::ok);
  EXPECT_EQ(finish(1, last), ErrorCode::ok);
  EXPECT_EQ(got, word);
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(cluster_->node(0).figure("unsolicited messages refused"), 0U);
}

TEST_P(Unsolicited, OneLargerThanTheBoundEndsAtItsSenderAloneAndTheConnectionLives) {
  const std::vector<std::byte> data(2 * kBound, std::byte{1});
  for (const std::uint64_t bytes : {std::uint64_t{2 * kBound}, std::uint64_t{1} << 50U}) {
    const Request refused =
        *at(1).send_unsolicited({.to = Rank{0}, .tag = Tag{1}}, ConstLayout(data.data(), bytes)); // never read
    EXPECT_EQ(finish(1, refused), ErrorCode::out_of_memory);
  }
  EXPECT_EQ(cluster_->node(0).figure("unsolicited messages refused"), 2U);
  const Request sent = *at(1).send_unsolicited({.to = Rank{0}, .tag = Tag{2}}, ConstLayout(data.data(), kBound / 2));
  EXPECT_EQ(finish(1, sent), ErrorCode::ok);
  cluster_->settle();
  poll();
  ASSERT_EQ(arrivals_.size(), 1U);
  EXPECT_EQ(arrivals_[0].unsolicited.bytes, kBound / 2);
  release_all();
  EXPECT_EQ(held(), 0U);
  EXPECT_FALSE(at(1).has_events());
}

TEST_P(Unsolicited, WhatADeadPeerHadWrittenIsDeliveredBeyondTheBound) {
  const std::vector<std::byte> data(300, std::byte{1});
  for (int i = 0; i < 200; ++i) static_cast<void>(*at(1).send_unsolicited({.to = Rank{0}, .tag = Tag{1}}, data));
  cluster_->settle();
  for (int i = 0; i < 20; ++i) poll();
  const std::size_t before = arrivals_.size();
  EXPECT_LT(before, 200U);
  cluster_->kill(1);
  at(0).peer_failed(1);
  std::array<Event, 512> events;
  std::size_t arrived = 0;
  for (std::size_t count = at(0).take_events(events); count > 0; --count)
    arrived += events[count - 1].kind == Event::Kind::unsolicited_arrived ? 1 : 0;
  EXPECT_GT(arrived, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Unsolicited,
    testing::Values(Way{.name = "Looked", .shape = {}}, Way{.name = "SharedRing", .shape = {}, .shared = true},
                    Way{.name = "Announced", .shape = {.processor_copies = false, .announcing = true}}),
    testing::PrintToStringParamName());

} // namespace
} // namespace heddle::tests
