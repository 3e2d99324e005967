#include "engine/matching/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <random>
#include <vector>

namespace heddle::engine {
namespace {

constexpr std::uint64_t kMasks[] = {kWholeTag, kWholeTag, 0xff, 0xfULL << 56U, 0, 0xffff, 0xffULL << 56U, 1, 3, 7};

// Of the first so many masks: with few every class has a table, with all most have none.
Match random_match(std::mt19937_64& random, std::size_t masks) {
  Match match;
  if (random() % 3 != 0) match.source = Rank{static_cast<std::uint32_t>(random() % 4)};
  match.mask = kMasks[random() % masks];
  match.tag = Tag{((random() % 3) | ((random() % 3) << 56U)) & match.mask};
  return match;
}

// The rules in their plainest form: two lists, searched from the front.
struct Naive {
  std::list<Operation*> receives;
  std::list<UnexpectedMessage*> messages;

  Operation* take_receive(std::uint32_t source, std::uint64_t tag) {
    const auto at = std::find_if(receives.begin(), receives.end(),
                                 [&](Operation* receive) { return accepts(receive->match, source, tag); });
    if (at == receives.end()) return nullptr;
    Operation* receive = *at;
    receives.erase(at);
    return receive;
  }
  [[nodiscard]] UnexpectedMessage* find(const Match& match) const {
    const auto at = std::find_if(messages.begin(), messages.end(), [&](UnexpectedMessage* message) {
      return accepts(match, message->source, message->tag);
    });
    return at == messages.end() ? nullptr : *at;
  }
};

TEST(Matching, DoesWhatTwoListsSearchedFromTheFrontWouldDo) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    // Some seeds let receives pile up, others messages.
    const unsigned receive_share = static_cast<unsigned>(20 + 5 * (seed % 10));
    const std::size_t masks = seed % 3 == 0 ? std::size(kMasks) : 2 + seed % 3 * 2;
    Matching matching;
    Naive naive;
    std::deque<Operation> operations;
    std::deque<UnexpectedMessage> arrived;
    for (int step = 0; step < 5000; ++step) {
      const std::uint64_t choice = random() % 100;
      if (choice < receive_share) {
        const Match match = random_match(random, masks);
        UnexpectedMessage* found = matching.find(match);
        ASSERT_EQ(found, naive.find(match));
        if (found != nullptr) {
          matching.take(*found);
          naive.messages.remove(found);
        } else {
          Operation& receive = operations.emplace_back();
          receive.match = match;
          matching.post(receive);
          naive.receives.push_back(&receive);
        }
      } else if (choice < 90) {
        const auto source = static_cast<std::uint32_t>(random() % 4);
        const std::uint64_t tag = (random() % 3) | ((random() % 3) << 56U);
        Operation* receive = matching.take_receive(source, tag);
        ASSERT_EQ(receive, naive.take_receive(source, tag));
        if (receive == nullptr) {
          UnexpectedMessage& message = arrived.emplace_back();
          message.source = source;
          message.tag = tag;
          matching.add(message);
          naive.messages.push_back(&message);
        }
      } else if (choice < 95 && !naive.receives.empty()) { // cancel
        auto at = naive.receives.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random() % naive.receives.size()));
        matching.remove(**at);
        naive.receives.erase(at);
      } else { // a matched probe
        const Match match = random_match(random, masks);
        UnexpectedMessage* found = matching.find(match);
        ASSERT_EQ(found, naive.find(match));
        if (found == nullptr) continue;
        matching.take(*found);
        naive.messages.remove(found);
      }
      ASSERT_EQ(matching.posted(), naive.receives.size());
      ASSERT_EQ(matching.unexpected(), naive.messages.size());
    }
    std::vector<UnexpectedMessage*> visited;
    matching.visit_unexpected([&visited](UnexpectedMessage& message) { visited.push_back(&message); });
    EXPECT_TRUE(std::equal(visited.begin(), visited.end(), naive.messages.begin(), naive.messages.end()));
  }
}

TEST(Matching, KeepsArrivalOrderForEqualTags) {
  Matching matching;
  std::deque<UnexpectedMessage> messages(1000);
  for (UnexpectedMessage& message : messages) {
    message.tag = 7;
    matching.add(message);
  }
  for (UnexpectedMessage& message : messages) {
    ASSERT_EQ(matching.find({.source = Rank{0}, .tag = Tag{7}}), &message);
    ASSERT_EQ(matching.find({.tag = Tag{7}}), &message);
    ASSERT_EQ(matching.find({.mask = 0}), &message);
    matching.take(message);
  }
}

TEST(Matching, KeepsPostingOrderForEqualTags) {
  Matching matching;
  std::deque<Operation> receives(1000);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    // Three ways to accept the same message.
    receives[i].match = {.source = i % 3 == 0 ? Rank{1} : kAnySource,
                         .tag = Tag{i % 3 == 2 ? 0U : 7U},
                         .mask = i % 3 == 2 ? 0 : kWholeTag};
    matching.post(receives[i]);
  }
  for (Operation& receive : receives) ASSERT_EQ(matching.take_receive(1, 7), &receive);
  EXPECT_EQ(matching.take_receive(1, 7), nullptr);
}

// As Open MPI and MPICH post all of theirs: some bits of the tag are ignored, and for any source some more.
TEST(Matching, SearchesNothingOneByOneForAFewClassesOfMasks) {
  constexpr std::uint64_t kMessageBits = 0x0fff'ffff'ffff'ffffULL;
  constexpr std::uint64_t kAnyTag = 0x0fff'ffff'0000'0000ULL;
  const auto match_of = [](std::uint64_t i) -> Match {
    switch (i % 4) {
      case 0: return {.source = Rank{1}, .tag = Tag{i}, .mask = kMessageBits};
      case 1: return {.source = kAnySource, .tag = Tag{i}, .mask = kMessageBits};
      case 2: return {.source = Rank{1}, .tag = Tag{i << 32U}, .mask = kAnyTag};
      default: return {.source = kAnySource, .tag = Tag{i << 32U}, .mask = kAnyTag};
    }
  };
  constexpr std::uint64_t kCount = 100'000;
  Matching posted;
  std::deque<Operation> receives(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    receives[i].match = match_of(i);
    posted.post(receives[i]);
  }
  for (std::uint64_t i = kCount; i-- > 0;) {
    const std::uint64_t tag = (i % 4 < 2 ? i : i << 32U) | (i % 2) << 63U; // with an ignored bit set, too
    ASSERT_EQ(posted.take_receive(1, tag), &receives[i]) << i;
  }
  EXPECT_EQ(posted.posted(), 0U);
  EXPECT_EQ(posted.searches(), 0U);
  EXPECT_EQ(posted.outside_classes(), 0U);

  Matching unexpected;
  std::deque<UnexpectedMessage> messages(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    messages[i].source = 1;
    messages[i].tag = (i % 4 < 2 ? i : i << 32U) | 1ULL << 62U;
    unexpected.add(messages[i]);
  }
  for (std::uint64_t i = kCount; i-- > 0;) {
    UnexpectedMessage* found = unexpected.find(match_of(i));
    ASSERT_EQ(found, &messages[i]) << i;
    unexpected.take(*found);
  }
  EXPECT_EQ(unexpected.searches(), 0U);
}

TEST(Matching, SearchesTheRestAndSaysSo) {
  Matching matching;
  std::deque<Operation> receives(kMatchClasses + 1);
  std::deque<UnexpectedMessage> messages(2);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    receives[i].match = {.tag = Tag{1U << i}, .mask = 1U << i};
    matching.post(receives[i]);
  }
  EXPECT_EQ(matching.classes(), kMatchClasses);
  EXPECT_EQ(matching.outside_classes(), 1U);
  EXPECT_EQ(matching.take_receive(0, 1U << kMatchClasses), &receives[kMatchClasses]);
  EXPECT_EQ(matching.searches(), 1U);
  // A table that has become empty serves another class.
  EXPECT_EQ(matching.take_receive(0, 1), &receives[0]);
  matching.post(receives[kMatchClasses]);
  EXPECT_EQ(matching.outside_classes(), 0U);

  messages[1].tag = 1ULL << 40U;
  for (UnexpectedMessage& message : messages) matching.add(message);
  const auto look = [&](std::size_t bit) { return matching.find({.tag = Tag{1ULL << bit}, .mask = 1ULL << bit}); };
  for (std::size_t i = 0; i < kMatchClasses; ++i) EXPECT_EQ(look(i), nullptr);
  const std::uint64_t before = matching.searches();
  EXPECT_EQ(look(40), &messages[1]);
  EXPECT_EQ(matching.searches(), before + 1);
  // When nothing is there any more, the classes that are wanted now have their turn.
  for (UnexpectedMessage& message : messages) matching.take(message);
  for (UnexpectedMessage& message : messages) matching.add(message);
  EXPECT_EQ(look(40), &messages[1]);
  EXPECT_EQ(matching.searches(), before + 1);
}

// --- the table ---

struct Item {
  MatchKey key;
  std::size_t number = 0;
  Hook<Item> hook;
};
struct InTable {
  static Hook<Item>& hook(Item& item) { return item.hook; }
  static MatchKey key(const Item& item) { return item.key; }
};
using Table = KeyTable<Item, InTable>;

// The comparisons of a find are bounded by the length of its chain.
std::size_t longest_chain(const Table& table, const std::deque<Item>& items) {
  std::size_t longest = 0;
  for (const Item& item : items) longest = std::max(longest, table.chain_length(item.key));
  return longest;
}

TEST(KeyTable, ComparesAFewHoweverManyOthersThereAre) {
  constexpr std::size_t kItems = 100'000;
  const std::vector<std::pair<const char*, MatchKey (*)(std::uint64_t)>> families = {
      {"consecutive tags", [](std::uint64_t i) { return MatchKey{1, i}; }},
      {"consecutive sources", [](std::uint64_t i) { return MatchKey{static_cast<std::uint32_t>(i), 5}; }},
      {"tags of the upper half", [](std::uint64_t i) { return MatchKey{1, i << 32U}; }},
      {"tags of the topmost bits",
       [](std::uint64_t i) { return MatchKey{static_cast<std::uint32_t>(i >> 16U), i << 48U}; }},
      {"sources with tags alike",
       [](std::uint64_t i) { return MatchKey{static_cast<std::uint32_t>(i % 317), (i / 317) << 40U}; }},
      {"every 4096th tag", [](std::uint64_t i) { return MatchKey{1, i * 4096}; }},
      {"pages of addresses", [](std::uint64_t i) { return MatchKey{0, 0x7f00'0000'0000ULL + i * 64}; }},
  };
  for (const auto& [name, make] : families) {
    Table table;
    std::deque<Item> items;
    for (std::uint64_t i = 0; i < kItems; ++i)
      table.push_back(items.emplace_back(Item{.key = make(i), .number = i, .hook = {}}));
    EXPECT_LE(longest_chain(table, items), 24U) << name;
  }
}

TEST(Matching, FindsAnExactReceiveAmongAHundredThousandOthers) {
  for (const std::size_t count : {10U, 100'000U}) {
    Matching matching;
    std::deque<Operation> receives;
    for (std::size_t i = 0; i < count; ++i) {
      receives.emplace_back().match = {.source = Rank{2}, .tag = Tag{1000 + i}};
      matching.post(receives.back());
    }
    Operation wanted;
    wanted.match = {.source = Rank{2}, .tag = Tag{5}};
    matching.post(wanted);
    EXPECT_EQ(matching.take_receive(2, 5), &wanted);
    EXPECT_EQ(matching.take_receive(2, 5), nullptr);
    EXPECT_EQ(matching.posted(), count);
  }
}

TEST(KeyTable, KeepsOrderOfEqualKeysAsItGrows) {
  Table table;
  std::deque<Item> items;
  constexpr std::size_t kKeys = 1000;
  for (std::size_t i = 0; i < 10 * kKeys; ++i)
    table.push_back(items.emplace_back(Item{.key = {.source = 1, .tag = i % kKeys}, .number = i, .hook = {}}));
  EXPECT_EQ(table.size(), items.size());
  for (std::size_t round = 0; round < 10; ++round)
    for (std::size_t tag = 0; tag < kKeys; ++tag) {
      Item* item = table.find({.source = 1, .tag = tag});
      ASSERT_NE(item, nullptr);
      ASSERT_EQ(item->number, round * kKeys + tag);
      table.remove(*item);
    }
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.find({.source = 1, .tag = 1}), nullptr);
}

} // namespace
} // namespace heddle::engine
