#include "engine/handlers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::engine {
namespace {

// A record as it lies in a ring.
struct Written {
  Lead lead;
  std::array<std::byte, 64> bytes{};

  explicit Written(RecordKind kind, std::uint64_t tag = 0, std::uint64_t word = 0, std::uint32_t size = sizeof(Finish))
      : lead{.kind = kind, .channel = Channel::program, .bytes = size} {
    const std::uint64_t first = lead.pack();
    std::memcpy(bytes.data(), &first, sizeof first);
    std::memcpy(bytes.data() + kLeadBytes, &tag, sizeof tag);
    std::memcpy(bytes.data() + kRecordHeadBytes, &word, sizeof word);
  }
};

struct Taker {
  std::uint64_t seen = 0;
  Taken answer = Taken::yes;
};
constexpr auto kTake = [](Taker& self, Connection&, Lead, std::uint64_t tag, const std::byte*) {
  self.seen = tag;
  return self.answer;
};

TEST(Handlers, ARecordGoesToItsKindsRow) {
  Handlers handlers;
  Taker one;
  Taker other;
  Connection connection;
  handlers.set(RecordKind::eager, record_row(one, Begins::no, kTake));
  handlers.set(RecordKind::finish, record_row(other, Begins::no, kTake));
  const Written record(RecordKind::finish, 7);
  EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::yes);
  EXPECT_EQ(one.seen, 0U);
  EXPECT_EQ(other.seen, 7U);
  other.answer = Taken::later;
  EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::later);
}

TEST(Handlers, ARecordThatBeginsSomethingIsTakenWhileThereIsMemory) {
  Handlers handlers;
  Taker taker;
  Connection connection;
  handlers.set(RecordKind::eager, record_row(taker, Begins::yes, kTake));
  handlers.set(RecordKind::finish,
               body_row<Finish>(taker, Begins::yes, [](Taker& self, Connection&, const Finish& body) {
                 self.seen = body.sender;
                 return true;
               }));
  const Written record(RecordKind::eager, 7);
  EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::yes);
  EXPECT_EQ(taker.seen, 7U);
  const Written body(RecordKind::finish, 0, 8);
  EXPECT_EQ(handlers.take(connection, body.lead, body.bytes.data()), Taken::yes);
  EXPECT_EQ(taker.seen, 8U);
}

TEST(Handlers, ARecordThatNobodyTakesMakesNoSense) {
  Handlers handlers;
  Connection connection;
  for (unsigned kind = 0; kind < kRecordKinds; ++kind) {
    const Written record(static_cast<RecordKind>(kind));
    EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::malformed);
  }
  Taker taker;
  handlers.set(RecordKind::finish, record_row(taker, Begins::no, kTake));
  handlers.remove(&taker);
  const Written record(RecordKind::finish);
  EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::malformed);
}

TEST(Handlers, ABodyOfAnotherSizeMakesNoSense) {
  Handlers handlers;
  Taker taker;
  Connection connection;
  handlers.set(RecordKind::finish,
               body_row<Finish>(taker, Begins::no, [](Taker& self, Connection&, const Finish& body) {
                 self.seen = body.sender;
                 return body.sender != 13;
               }));
  const Written good(RecordKind::finish, 0, 12);
  EXPECT_EQ(handlers.take(connection, good.lead, good.bytes.data()), Taken::yes);
  EXPECT_EQ(taker.seen, 12U);
  const Written refused(RecordKind::finish, 0, 13);
  EXPECT_EQ(handlers.take(connection, refused.lead, refused.bytes.data()), Taken::malformed);
  const Written shorter(RecordKind::finish, 0, 14, sizeof(Finish) - 1);
  EXPECT_EQ(handlers.take(connection, shorter.lead, shorter.bytes.data()), Taken::malformed);
  EXPECT_EQ(taker.seen, 13U);
}

TEST(Handlers, ARecordThatThereIsNoMemoryForIsTakenLater) {
  Handlers handlers;
  Taker taker;
  Connection connection;
  handlers.set(RecordKind::finish,
               record_row(taker, Begins::no, [](Taker&, Connection&, Lead, std::uint64_t, const std::byte*) -> Taken {
                 throw std::bad_alloc();
               }));
  const Written record(RecordKind::finish);
  EXPECT_EQ(handlers.take(connection, record.lead, record.bytes.data()), Taken::later);
}

TEST(Handlers, ACommandGoesToItsKindsRowAndAnUnknownOneToNobody) {
  Handlers handlers;
  Taker taker;
  handlers.set(CookieKind::read, command_row(taker, [](Taker& self, Connection*, const ir::Event& event) {
                 self.seen = cookie_number(event.cookie);
                 return false;
               }));
  EXPECT_FALSE(handlers.ended(nullptr, {.cookie = make_cookie(CookieKind::read, 5)}));
  EXPECT_EQ(taker.seen, 5U);
  EXPECT_TRUE(handlers.ended(nullptr, {.cookie = make_cookie(CookieKind::claim, 6)}));
  EXPECT_TRUE(handlers.ended(nullptr, {.cookie = ~std::uint64_t{0}}));
  EXPECT_EQ(taker.seen, 5U);
}

TEST(Handlers, OneThatIsTakenOutLeavesTheRowsOfOthers) {
  Handlers handlers;
  Taker gone;
  Taker stays;
  constexpr auto kEnded = [](Taker& self, Connection*, const ir::Event& event) {
    self.seen = cookie_number(event.cookie);
    return false;
  };
  handlers.set(CookieKind::read, command_row(gone, kEnded));
  handlers.set(CookieKind::claim, command_row(stays, kEnded));
  handlers.remove(&gone);
  EXPECT_TRUE(handlers.ended(nullptr, {.cookie = make_cookie(CookieKind::read, 5)})) << "nobody's";
  EXPECT_EQ(gone.seen, 0U);
  EXPECT_FALSE(handlers.ended(nullptr, {.cookie = make_cookie(CookieKind::claim, 6)}));
  EXPECT_EQ(stays.seen, 6U);
}

struct Idle final : Protocol {
  std::size_t progress() override { return 0; }
  [[nodiscard]] bool tries_again() const override { return false; }
  [[nodiscard]] std::string waiting_for() override { return {}; }
};

TEST(Handlers, ProtocolsStandThereUntilTheyAreTakenOut) {
  Handlers handlers;
  Idle first;
  Idle second;
  const bool busy = true;
  const bool resting = false;
  handlers.add(first, busy);
  handlers.add(second, resting);
  ASSERT_EQ(handlers.protocols().size(), 2U);
  EXPECT_EQ(handlers.protocols()[0].protocol, &first);
  EXPECT_EQ(handlers.protocols()[1].busy, &resting);
  handlers.remove(first);
  ASSERT_EQ(handlers.protocols().size(), 1U);
  EXPECT_EQ(handlers.protocols()[0].protocol, &second);
}

TEST(Handlers, WhatStandsForARemovedPeerIsToldAlong) {
  Handlers handlers;
  Taker taker;
  handlers.add_end_row(end_row(taker, [](Taker& self, Connection& connection, PeerEnd end) {
    EXPECT_EQ(end.how, End::removed);
    EXPECT_TRUE(end.is_first());
    self.seen = connection.rank * 100 + end.instead->rank;
  }));
  Connection connection;
  Connection instead;
  connection.rank = 4;
  instead.rank = 9;
  handlers.tell(connection, {.how = End::removed, .instead = &instead});
  EXPECT_EQ(taker.seen, 409U);
}

struct Listener {
  std::vector<std::string>& log;
  std::string name;
};

TEST(Handlers, AllOnTheListAreToldOfAnEndInTheirOrder) {
  Handlers handlers;
  std::vector<std::string> log;
  Listener first{log, "first"};
  Listener second{log, "second"};
  constexpr auto kTold = [](Listener& self, Connection& connection, PeerEnd end) {
    self.log.push_back(self.name + " " + std::to_string(connection.rank) + (end.is_first() ? "" : " again"));
  };
  handlers.add_end_row(end_row(first, kTold));
  handlers.add_end_row(end_row(second, kTold));
  Connection connection;
  connection.rank = 4;
  handlers.tell(connection, {.how = End::connection_lost});
  handlers.remove(&first);
  handlers.tell(connection, {.how = End::died, .before = End::connection_lost});
  EXPECT_EQ(log, (std::vector<std::string>{"first 4", "second 4", "second 4 again"}));
}

} // namespace
} // namespace heddle::engine
