// The contract on compare_and_swap and fetch_and_add (command.hpp). Networks without atomics pass by having none.
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

TEST_P(AtomicsContract, CompareAndSwapSetsAnEqualWordAndTellsTheOldOne) {
  ir::Event event = left.run(compare_and_swap(1, place(), 0, 17));
  EXPECT_EQ(event.status, ir::Status::ok);
  EXPECT_EQ(event.value, 0U);
  EXPECT_EQ(word(), 17U);
  event = left.run(compare_and_swap(1, place(), 17, ~std::uint64_t{0}));
  EXPECT_EQ(event.value, 17U);
  EXPECT_EQ(word(), ~std::uint64_t{0});
}

TEST_P(AtomicsContract, CompareAndSwapLeavesAnotherWordAndTellsIt) {
  left.run(put_word(1, place(), 5));
  const ir::Event event = left.run(compare_and_swap(1, place(), 4, 9));
  EXPECT_EQ(event.status, ir::Status::ok);
  EXPECT_EQ(event.value, 5U);
  EXPECT_EQ(word(), 5U);
}

TEST_P(AtomicsContract, FetchAndAddAddsAndTellsTheOldWord) {
  EXPECT_EQ(left.run(fetch_and_add(1, place(), 5)).value, 0U);
  EXPECT_EQ(left.run(fetch_and_add(1, place(), ~std::uint64_t{0})).value, 5U);
  EXPECT_EQ(word(), 4U) << "a sum beyond 64 bits wraps";
}

TEST_P(AtomicsContract, TouchOnlyTheirEightBytes) {
  fill(std::byte{0xee});
  left.run(fetch_and_add(1, place(), 1));
  left.run(compare_and_swap(1, place(), word(), 0xeeee'eeee'eeee'eeeeULL));
  EXPECT_TRUE(all(std::byte{0xee}));
}

TEST_P(AtomicsContract, AtAPlaceThatIsNotAlignedAreRefusedAndChangeNothing) {
  fill(std::byte{0xee});
  for (std::uint64_t shift = 1; shift < 8; ++shift) {
    EXPECT_EQ(left.status_of(fetch_and_add(1, place().at(shift), 1)), ir::Status::refused);
    EXPECT_EQ(left.status_of(compare_and_swap(1, place().at(shift), 0xeeee'eeee'eeee'eeeeULL, 1)), ir::Status::refused);
  }
  EXPECT_TRUE(all(std::byte{0xee}));
}

TEST_P(AtomicsContract, OutsideExposedMemoryAreRefused) {
  const ir::RemotePlace beyond = there.at(std::uint64_t{1} << 40U);
  const ir::RemotePlace at_the_end{.key = there.key, .offset = ~std::uint64_t{0} - 7};
  const ir::RemotePlace unknown{.key = ir::MemoryKey{0xdead'beef}, .offset = there.offset};
  for (const ir::RemotePlace& place : {beyond, at_the_end, unknown}) {
    EXPECT_EQ(left.status_of(fetch_and_add(1, place, 1)), ir::Status::refused);
    EXPECT_EQ(left.status_of(compare_and_swap(1, place, 0, 1)), ir::Status::refused);
  }
  EXPECT_TRUE(all(std::byte{0}));
}

TEST_P(AtomicsContract, WithoutASignalWorkAndGiveNoEvent) {
  left.submit(fetch_and_add(1, place(), 3));
  left.wait([&] { return word() == 3; });
  left.submit(compare_and_swap(1, place(), 3, 8));
  left.wait([&] { return word() == 8; });
  EXPECT_TRUE(left.events().empty());
}

TEST_P(AtomicsContract, OfTwoPeersLoseNothing) {
  constexpr std::uint64_t kTimes = 2000;
  if (!network->threads()) GTEST_SKIP() << "this network is used by one thread";
  ASSERT_TRUE(right.translator().attach(ir::Peer{1}, right.translator().address()));
  const auto count = [&](Side& side) {
    for (std::uint64_t i = 0; i < kTimes; ++i) side.run(fetch_and_add(1, place(), 1));
  };
  std::thread other([&] { count(right); });
  count(left);
  other.join();
  EXPECT_EQ(word(), 2 * kTimes);
}

TEST_P(AtomicsContract, AreAtomicWithTheProcessorWhereTheNetworkSaysSo) {
  constexpr std::uint64_t kTimes = 2000;
  if (!network->threads() || !left.translator().capabilities().atomics_with_processor)
    GTEST_SKIP() << "this network does not promise it";
  std::thread owner([&] {
    std::atomic_ref counter(*reinterpret_cast<std::uint64_t*>(memory.data() + 64));
    for (std::uint64_t i = 0; i < kTimes; ++i) counter.fetch_add(1);
  });
  for (std::uint64_t i = 0; i < kTimes; ++i) left.run(fetch_and_add(1, place(), 1));
  owner.join();
  EXPECT_EQ(word(), 2 * kTimes);
}

} // namespace
} // namespace heddle::translators::contract
