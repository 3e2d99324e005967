// The contract suite: what every translator and decorator must do, as tests. One line in a *_test.cpp of the translator's
// own folder runs all of it: HEDDLE_TRANSLATOR_CONTRACT(Tcp, TcpNetwork), where TcpNetwork is a contract::Network.
// The tests themselves are compiled once, beside this file, however many networks there are.
#pragma once

#include "translators/contract/network.hpp"

#include <limits>
#include <string>

namespace heddle::translators::contract {

inline constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::byte kUntouched{0xee}; // what memory is filled with, to see what was written

class MemoryContract : public Pair {};
class TransfersContract : public Pair {};
class PeersContract : public Pair {};
class SleepContract : public Pair {};

class AreasContract : public Pair {
 public:
  static constexpr std::uint64_t kBytes = 4096;

  void SetUp() override {
    Pair::SetUp();
    const auto allocated = right.translator().allocate_area(kBytes);
    ASSERT_TRUE(allocated) << allocated.error().message();
    areas.push_back(*allocated);
    if (!right.translator().capabilities().reads_any_memory) return;
    const auto exposed = right.translator().expose_area(own);
    ASSERT_TRUE(exposed) << exposed.error().message();
    areas.push_back({.memory = own, .place = *exposed});
  }

  std::vector<std::byte> own = pattern(kBytes, 3);
  std::vector<ir::ExposedMemory> areas; // of the right peer: allocated, and, where the network can, its own memory
  std::vector<std::byte> data = pattern(300, 7);
};

class WindowsContract : public Pair {
 public:
  void SetUp() override {
    Pair::SetUp();
    window = left.translator().window(ir::Peer{1}, there, memory.size());
    if (!window.exists()) GTEST_SKIP() << "this network offers no window";
  }
  ir::Window window; // of the left peer onto `memory`
};

class AtomicsContract : public Pair {
 public:
  void SetUp() override {
    Pair::SetUp();
    if (!left.translator().capabilities().atomics) GTEST_SKIP() << "this network has no atomics";
  }
  // The word that the tests work on.
  [[nodiscard]] std::uint64_t word() const { return load_word(memory.data() + 64); }
  [[nodiscard]] ir::RemotePlace place() const { return there.at(64); }
};

class RefusalsContract : public Pair {
 public:
  // Refused with a signal and without one; neither memory changes.
  void expect_refused(const ir::Command& command, const std::string& what);
  // Those that are nobody's.
  [[nodiscard]] std::vector<ir::RemotePlace> wrong_places() const;

  std::vector<std::byte> local = pattern(256, 4);
};

template <typename Type>
NetworkType type_of(const char* name) {
  return {.name = name, .make = []() -> std::unique_ptr<Network> { return std::make_unique<Type>(); }};
}

} // namespace heddle::translators::contract

// Stands inside namespace heddle::translators::contract. A macro because GoogleTest registers by macro.
#define HEDDLE_TRANSLATOR_CONTRACT(name, Type)                                                \
  INSTANTIATE_TEST_SUITE_P(name, MemoryContract, ::testing::Values(type_of<Type>(#name)));    \
  INSTANTIATE_TEST_SUITE_P(name, TransfersContract, ::testing::Values(type_of<Type>(#name))); \
  INSTANTIATE_TEST_SUITE_P(name, AreasContract, ::testing::Values(type_of<Type>(#name)));     \
  INSTANTIATE_TEST_SUITE_P(name, WindowsContract, ::testing::Values(type_of<Type>(#name)));   \
  INSTANTIATE_TEST_SUITE_P(name, AtomicsContract, ::testing::Values(type_of<Type>(#name)));   \
  INSTANTIATE_TEST_SUITE_P(name, RefusalsContract, ::testing::Values(type_of<Type>(#name)));  \
  INSTANTIATE_TEST_SUITE_P(name, PeersContract, ::testing::Values(type_of<Type>(#name)));     \
  INSTANTIATE_TEST_SUITE_P(name, SleepContract, ::testing::Values(type_of<Type>(#name)))
