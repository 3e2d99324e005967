// The contract on processes that come and go (docs/new-translator.md, open worlds).
#include "translators/contract/open_world.hpp"
#include "translators/forked_test.hpp"

#include <gmock/gmock.h>

namespace heddle::translators::contract {

void OpenWorldContract::read(Stranger& host, std::vector<Told>& all, const std::vector<Stranger*>& others) {
  std::array<ir::Event, 16> events;
  for (Stranger* other : others) other->side().poll();
  const std::size_t count = host.translator().poll(events);
  for (const ir::Event& event : std::span(events).first(count)) {
    if (event.kind != ir::EventKind::peer_left && event.kind != ir::EventKind::peer_failed) continue;
    if (event.peer == ir::kByUid)
      all.push_back({.kind = event.kind, .who = event.value, .number = 0, .stay = event.cookie});
    else
      all.push_back({.kind = event.kind, .who = 0, .number = static_cast<std::uint32_t>(event.peer)});
  }
}

void OpenWorldContract::expect_told(Stranger& host, std::vector<Told> expected, const std::vector<Stranger*>& others) {
  std::vector<Told> all;
  const auto until = [&](std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (all.size() < count && std::chrono::steady_clock::now() < end) {
      read(host, all, others);
      std::this_thread::yield();
    }
  };
  until(expected.size());
  // One that comes and goes after all this: what else was to be told would have come before it.
  const auto last = open();
  last->attach(host, 1);
  last->detach(1);
  expected.push_back(left(last->uid(), 1));
  until(expected.size());
  EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(expected));
}

namespace {

TEST_P(OpenWorldContract, IsWhatTheNetworkSaysThatItOffers) {
  EXPECT_NE(open()->translator().facets().naming, nullptr);
}

TEST_P(OpenWorldContract, AShortAddressAndTheUniqueIdMakeTheWholeOne) {
  const auto host = open();
  const auto guest = open();
  ir::Naming& there = *host->translator().facets().naming;
  ir::Naming& here = *guest->translator().facets().naming;
  EXPECT_EQ(there.letter(), here.letter());
  const ir::ShortAddress shortened = there.short_address();
  const auto whole = here.whole_address(host->uid(), shortened.used());
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(*whole, host->translator().address());
}

TEST_P(OpenWorldContract, NoOtherLengthIsAShortAddress) {
  const auto host = open();
  ir::Naming& naming = *host->translator().facets().naming;
  const ir::ShortAddress shortened = naming.short_address();
  std::vector<std::byte> longer(shortened.used().begin(), shortened.used().end());
  longer.push_back(std::byte{});
  for (const auto wrong : {shortened.used().first(shortened.size - 1U), std::span<const std::byte>(longer),
                           std::span<const std::byte>{}}) {
    const auto whole = naming.whole_address(host->uid(), wrong);
    ASSERT_FALSE(whole) << wrong.size() << " bytes";
    EXPECT_EQ(whole.error().code, ErrorCode::unreachable);
  }
}

TEST_P(OpenWorldContract, AStrangerIsReachedByItsAddressUnderAnyNumber) {
  const auto host = open();
  for (const std::uint32_t number : {1U, 2U, 7U, 1000U}) {
    const auto guest = open();
    const ir::RemotePlace there = guest->attach(*host, number);
    EXPECT_EQ(guest->side().status_of(put_word(number, there, number)), ir::Status::ok);
    EXPECT_EQ(host->word(), number);
  }
}

TEST_P(OpenWorldContract, NothingIsToldOfThoseWhoStay) {
  const auto host = open();
  const auto guest = open();
  guest->attach(*host, 3);
  host->attach(*guest, 4);
  expect_told(*host, {}, {guest.get()});
  expect_told(*guest, {}, {host.get()});
}

TEST_P(OpenWorldContract, AGuestThatDetachesHasLeftAfterAllThatItWrote) {
  const auto host = open();
  const auto guest = open();
  const ir::RemotePlace there = guest->attach(*host, 3);
  guest->side().submit(put_word(3, there, 42));
  guest->detach(3);
  expect_told(*host, {left(guest->uid(), 3)}, {guest.get()});
  EXPECT_EQ(host->word(), 42U);
}

TEST_P(OpenWorldContract, EachStayEndsOnItsOwn) {
  const auto host = open();
  const auto guest = open();
  std::vector<Told> expected;
  for (std::uint32_t number = 1; number <= 5; ++number) {
    guest->attach(*host, number);
    guest->detach(number);
    guest->detach(number); // once more does nothing
    expected.push_back(left(guest->uid(), number));
  }
  guest->attach(*host, 6); // it stays now
  expect_told(*host, expected, {guest.get()});
}

TEST_P(OpenWorldContract, OneThatClosesHasLeftAndNoOther) {
  const auto host = open();
  std::array<std::unique_ptr<Stranger>, 3> guests{open(), open(), open()};
  for (std::uint32_t i = 0; i < 3; ++i) {
    guests.at(i)->attach(*host, 5);
    host->attach(*guests.at(i), 1 + i);
  }
  const std::uint64_t uid = guests[1]->uid();
  guests[1].reset();
  expect_told(*host, {left(uid, 5), left(2U)}, {guests[0].get(), guests[2].get()});
}

TEST_P(OpenWorldContract, AHostThatClosesHasLeftItsGuests) {
  auto host = open();
  const auto guest = open();
  const auto unknown = open();
  guest->attach(*host, 9);
  host.reset();
  expect_told(*guest, {left(9U)});
  expect_told(*unknown, {});
}

TEST_P(OpenWorldContract, OneThatIsDetachedIsNoLongerToldOf) {
  auto host = open();
  const auto guest = open();
  guest->attach(*host, 9);
  guest->detach(9);
  host.reset();
  expect_told(*guest, {});
}

TEST_P(OpenWorldContract, CommandsToOneThatHasClosedEnd) {
  auto host = open();
  const auto guest = open();
  const ir::RemotePlace there = guest->attach(*host, 9);
  host.reset();
  expect_told(*guest, {left(9U)});
  guest->detach(9);
  const ir::Status status = guest->side().status_of(put_word(9, there, 1));
  EXPECT_TRUE(status == ir::Status::peer_lost || status == ir::Status::peer_left);
}

TEST_P(OpenWorldContract, OneThatHasClosedCannotBeAttached) {
  if (!GetParam().tells_at_once) GTEST_SKIP() << "this network calls who does not answer for a while";
  const auto guest = open();
  const ir::Address closed = open()->translator().address();
  const auto failed = guest->translator().attach(ir::Peer{1}, closed);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::unreachable) << failed.error().message();
  const auto host = open();
  const ir::RemotePlace there = guest->attach(*host, 1); // the number was not used up
  EXPECT_EQ(guest->side().status_of(put_word(1, there, 8)), ir::Status::ok);
}

// A process that is killed, with what it had written; others of its kind stay.
TEST_P(OpenWorldContract, OneThatIsKilledHasFailed) {
  const auto host = open();
  const auto guest = open();
  guest->attach(*host, 2);
  constexpr std::uint64_t kUid = 77;
  const ir::Address address = host->translator().address();
  Child child([&](const Line& line) {
    const auto own = GetParam().open(kUid);
    if (!own->allocate(64)) return 1;
    const auto there = own->attach(ir::Peer{6}, address);
    if (!there) return 1;
    Side side(*own);
    if (side.status_of(put_word(6, *there, 42)) != ir::Status::ok) return 1;
    line.say(own->address());
    ::pause();
    return 0;
  });
  ASSERT_TRUE(host->side().wait([&] { return child.line().has_word(); })); // some networks need the target's calls
  ASSERT_TRUE(host->translator().attach(ir::Peer{1}, child.line().hear<ir::Address>()));
  child.kill();
  expect_told(*host, {failed(kUid, 6), failed(1U)}, {guest.get()});
  EXPECT_EQ(host->word(), 42U);
}

} // namespace
} // namespace heddle::translators::contract
