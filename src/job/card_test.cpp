#include "job/card.hpp"

#include <gtest/gtest.h>

#include <random>

namespace heddle::job {
namespace {

Card sample() {
  Card card{.node = 0x1234'5678'9abc'def0, .host = "node-17.example"};
  card.processors[0] = 0xff;
  card.processors[15] = std::uint64_t{1} << 63U;
  for (const char* name : {"shm", "tcp"}) {
    Card::Entry entry{.name = name, .location = 7};
    entry.address.fill(static_cast<std::byte>(name[0]));
    card.networks.push_back(entry);
  }
  return card;
}

void expect_equal(const Card& a, const Card& b) {
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.processors, b.processors);
  ASSERT_EQ(a.networks.size(), b.networks.size());
  for (std::size_t i = 0; i < a.networks.size(); ++i) {
    EXPECT_EQ(a.networks[i].name, b.networks[i].name);
    EXPECT_EQ(a.networks[i].address, b.networks[i].address);
    EXPECT_EQ(a.networks[i].location, b.networks[i].location);
  }
}

TEST(Card, IsReadAsItWasWritten) {
  const auto read = Card::decode(sample().encode());
  ASSERT_TRUE(read) << read.error().message();
  expect_equal(*read, sample());
  EXPECT_EQ(read->find("tcp")->address[0], std::byte{'t'});
  EXPECT_EQ(read->find("verbs"), nullptr);
  const auto bare = Card::decode(Card{}.encode());
  ASSERT_TRUE(bare);
  expect_equal(*bare, Card{});
}

TEST(Card, IsRefusedWhereAnythingIsMissingOrTooMuch) {
  const std::vector<std::byte> whole = sample().encode();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(Card::decode(std::span(whole).first(length))) << length;
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(Card::decode(longer));
  std::vector<std::byte> other = whole;
  other[0] ^= std::byte{1};
  EXPECT_FALSE(Card::decode(other)) << "another version";
}

TEST(Card, IsRefusedWhereANameStandsTwiceOrIsNone) {
  Card card = sample();
  card.networks[1].name = "shm";
  EXPECT_FALSE(Card::decode(card.encode()));
  card.networks[1].name = "";
  EXPECT_FALSE(Card::decode(card.encode()));
  card.networks[1].name = std::string(Card::kLongestName + 1, 'x');
  EXPECT_FALSE(Card::decode(card.encode()));
  card.networks[1].name = "\x1b[1m";
  EXPECT_FALSE(Card::decode(card.encode())) << "what a terminal would obey";
  card = sample();
  for (std::size_t i = 0; card.networks.size() <= Card::kMostNetworks; ++i) {
    card.networks.push_back(card.networks[0]);
    card.networks.back().name = "n" + std::to_string(i);
  }
  EXPECT_FALSE(Card::decode(card.encode()));
}

// Whatever a peer publishes, it is read whole or not at all.
TEST(Card, ThatIsNonsenseIsRefusedOrReadAsSomethingThatCanBeWrittenAgain) {
  std::mt19937_64 random(20261116);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes = sample().encode();
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (const auto read = Card::decode(bytes)) {
      EXPECT_EQ(read->encode(), bytes) << i;
    }
  }
}

} // namespace
} // namespace heddle::job
