// The contract on compare_and_swap and fetch_and_add (command.hpp). Networks without atomics pass by having none.
#pragma once

#include "translators/contract/network.hpp"

namespace heddle::translators::contract {

template <typename Network>
class AtomicsContract : public Pair<Network> {
 public:
  void SetUp() override {
    Pair<Network>::SetUp();
    if (!this->left.translator().capabilities().atomics) GTEST_SKIP() << "this network has no atomics";
  }
  [[nodiscard]] std::uint64_t word() const { return load_word(this->memory.data() + 64); }
  [[nodiscard]] ir::RemotePlace place() const { return this->there.at(64); }
};
TYPED_TEST_SUITE_P(AtomicsContract);

TYPED_TEST_P(AtomicsContract, CompareAndSwapSetsAnEqualWordAndTellsTheOldOne) {
  ir::Event event = this->left.run(compare_and_swap(1, this->place(), 0, 17));
  EXPECT_EQ(event.status, ir::Status::ok);
  EXPECT_EQ(event.value, 0U);
  EXPECT_EQ(this->word(), 17U);
  event = this->left.run(compare_and_swap(1, this->place(), 17, ~std::uint64_t{0}));
  EXPECT_EQ(event.value, 17U);
  EXPECT_EQ(this->word(), ~std::uint64_t{0});
}

TYPED_TEST_P(AtomicsContract, CompareAndSwapLeavesAnotherWordAndTellsIt) {
  this->left.run(put_word(1, this->place(), 5));
  const ir::Event event = this->left.run(compare_and_swap(1, this->place(), 4, 9));
  EXPECT_EQ(event.status, ir::Status::ok);
  EXPECT_EQ(event.value, 5U);
  EXPECT_EQ(this->word(), 5U);
}

TYPED_TEST_P(AtomicsContract, FetchAndAddAddsAndTellsTheOldWord) {
  EXPECT_EQ(this->left.run(fetch_and_add(1, this->place(), 5)).value, 0U);
  EXPECT_EQ(this->left.run(fetch_and_add(1, this->place(), ~std::uint64_t{0})).value, 5U);
  EXPECT_EQ(this->word(), 4U) << "a sum beyond 64 bits wraps";
}

TYPED_TEST_P(AtomicsContract, TouchOnlyTheirEightBytes) {
  this->fill(std::byte{0xee});
  this->left.run(fetch_and_add(1, this->place(), 1));
  this->left.run(compare_and_swap(1, this->place(), this->word(), 0xeeee'eeee'eeee'eeeeULL));
  EXPECT_TRUE(this->all(std::byte{0xee}));
}

TYPED_TEST_P(AtomicsContract, AtAPlaceThatIsNotAlignedAreRefusedAndChangeNothing) {
  this->fill(std::byte{0xee});
  for (std::uint64_t shift = 1; shift < 8; ++shift) {
    EXPECT_EQ(this->left.status_of(fetch_and_add(1, this->place().at(shift), 1)), ir::Status::refused);
    EXPECT_EQ(this->left.status_of(compare_and_swap(1, this->place().at(shift), 0xeeee'eeee'eeee'eeeeULL, 1)),
              ir::Status::refused);
  }
  EXPECT_TRUE(this->all(std::byte{0xee}));
}

TYPED_TEST_P(AtomicsContract, OutsideExposedMemoryAreRefused) {
  const ir::RemotePlace beyond = this->there.at(std::uint64_t{1} << 40U);
  const ir::RemotePlace at_the_end{.key = this->there.key, .offset = ~std::uint64_t{0} - 7};
  const ir::RemotePlace unknown{.key = ir::MemoryKey{0xdead'beef}, .offset = this->there.offset};
  for (const ir::RemotePlace& place : {beyond, at_the_end, unknown}) {
    EXPECT_EQ(this->left.status_of(fetch_and_add(1, place, 1)), ir::Status::refused);
    EXPECT_EQ(this->left.status_of(compare_and_swap(1, place, 0, 1)), ir::Status::refused);
  }
  EXPECT_TRUE(this->all(std::byte{0}));
}

TYPED_TEST_P(AtomicsContract, WithoutASignalWorkAndGiveNoEvent) {
  this->left.submit(fetch_and_add(1, this->place(), 3));
  this->left.wait([&] { return this->word() == 3; });
  this->left.submit(compare_and_swap(1, this->place(), 3, 8));
  this->left.wait([&] { return this->word() == 8; });
  EXPECT_TRUE(this->left.events().empty());
}

TYPED_TEST_P(AtomicsContract, OfTwoPeersLoseNothing) {
  constexpr std::uint64_t kTimes = 2000;
  if (!TypeParam::kThreads) GTEST_SKIP() << "this network is used by one thread";
  ASSERT_TRUE(this->right.translator().attach(ir::Peer{1}, this->right.translator().address()));
  const auto count = [&](Side& side) {
    for (std::uint64_t i = 0; i < kTimes; ++i) side.run(fetch_and_add(1, this->place(), 1));
  };
  std::thread other([&] { count(this->right); });
  count(this->left);
  other.join();
  EXPECT_EQ(this->word(), 2 * kTimes);
}

TYPED_TEST_P(AtomicsContract, AreAtomicWithTheProcessorWhereTheNetworkSaysSo) {
  constexpr std::uint64_t kTimes = 2000;
  if (!TypeParam::kThreads || !this->left.translator().capabilities().atomics_with_processor)
    GTEST_SKIP() << "this network does not promise it";
  std::thread owner([&] {
    std::atomic_ref counter(*reinterpret_cast<std::uint64_t*>(this->memory.data() + 64));
    for (std::uint64_t i = 0; i < kTimes; ++i) counter.fetch_add(1);
  });
  for (std::uint64_t i = 0; i < kTimes; ++i) this->left.run(fetch_and_add(1, this->place(), 1));
  owner.join();
  EXPECT_EQ(this->word(), 2 * kTimes);
}

REGISTER_TYPED_TEST_SUITE_P(AtomicsContract, CompareAndSwapSetsAnEqualWordAndTellsTheOldOne,
                            CompareAndSwapLeavesAnotherWordAndTellsIt, FetchAndAddAddsAndTellsTheOldWord,
                            TouchOnlyTheirEightBytes, AtAPlaceThatIsNotAlignedAreRefusedAndChangeNothing,
                            OutsideExposedMemoryAreRefused, WithoutASignalWorkAndGiveNoEvent, OfTwoPeersLoseNothing,
                            AreAtomicWithTheProcessorWhereTheNetworkSaysSo);

} // namespace heddle::translators::contract
