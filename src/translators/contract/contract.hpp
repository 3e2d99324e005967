// The contract suite: what every translator and decorator must do, as tests. One line in a *_test.cpp of the translator's
// own folder runs all of it: HEDDLE_TRANSLATOR_CONTRACT(Tcp, TcpNetwork), where TcpNetwork is a contract::Network.
// The tests themselves are compiled once, beside this file, however many networks there are.
#pragma once

#include "translators/contract/network.hpp"

#include <poll.h>

#include <limits>
#include <string>

namespace heddle::translators::contract {

inline constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::byte kUntouched{0xee}; // what memory is filled with, to see what was written

class MemoryContract : public Pair {};
class TransfersContract : public Pair {};
class PeersContract : public Pair {};

class SleepContract : public Pair {
 public:
  using By = ir::Sleeping::By;
  static constexpr std::array kBoth = {By::sleep, By::descriptor};

  void SetUp() override {
    Pair::SetUp();
    sleeping = right.translator().facets().sleeping;
    if (sleeping == nullptr) GTEST_SKIP() << "this network does not know when something arrives";
    const auto made = sleeping->descriptor();
    ASSERT_TRUE(made) << made.error().message();
    descriptor = *made;
    // What a network does with the first commands, such as connecting, is over before anybody sleeps.
    ASSERT_EQ(left.status_of(put_word(1, there, 0)), ir::Status::ok);
    for (int i = 0; i < 100; ++i) {
      left.poll();
      right.poll();
    }
  }
  // After an announcement. By the descriptor: whether it was woken.
  bool sleep(By by, std::chrono::nanoseconds limit) const {
    if (by == By::sleep) {
      sleeping->sleep(limit);
      return false;
    }
    pollfd waits{.fd = descriptor, .events = POLLIN, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    const bool woken = ::poll(&waits, 1, static_cast<int>(milliseconds)) == 1;
    sleeping->cancel_sleep();
    return woken;
  }

  ir::Sleeping* sleeping = nullptr; // of the right peer
  int descriptor = -1;
};

class AreasContract : public Pair {
 public:
  static constexpr std::uint64_t kBytes = 4096;

  void SetUp() override {
    Pair::SetUp();
    const auto allocated = ir::allocate_area(right.translator(), kBytes);
    ASSERT_TRUE(allocated) << allocated.error().message();
    areas.push_back(*allocated);
    if (!right.translator().capabilities().reads_any_memory) return;
    const auto exposed = ir::expose_area(right.translator(), own);
    ASSERT_TRUE(exposed) << exposed.error().message();
    areas.push_back({.memory = own, .place = *exposed});
  }

  std::vector<std::byte> own = pattern(kBytes, 3);
  std::vector<ir::ExposedMemory> areas; // of the right peer: allocated, and, where the network can, its own memory
  std::vector<std::byte> data = pattern(300, 7);
};

class DirectMemoryContract : public Pair {
 public:
  void SetUp() override {
    Pair::SetUp();
    offered = left.translator().facets().direct_memory;
    if (offered == nullptr) GTEST_SKIP() << "this network offers no direct memory";
    direct = offered->direct_ring(ir::Peer{1}, there, memory.size());
    ASSERT_TRUE(direct.exists());
  }
  ir::DirectMemory* offered = nullptr; // by the left peer's network
  ir::DirectRing direct;               // `memory`
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
#define HEDDLE_TRANSLATOR_CONTRACT(name, Type) \
  HEDDLE_TRANSLATOR_CONTRACT_OF(name, ::testing::Values(type_of<Type>(#name)))
// The same with a generator of types, which may be empty: of a network that not every machine has.
#define HEDDLE_TRANSLATOR_CONTRACT_OF(name, types)             \
  INSTANTIATE_TEST_SUITE_P(name, MemoryContract, types);       \
  INSTANTIATE_TEST_SUITE_P(name, TransfersContract, types);    \
  INSTANTIATE_TEST_SUITE_P(name, AreasContract, types);        \
  INSTANTIATE_TEST_SUITE_P(name, DirectMemoryContract, types); \
  INSTANTIATE_TEST_SUITE_P(name, AtomicsContract, types);      \
  INSTANTIATE_TEST_SUITE_P(name, RefusalsContract, types);     \
  INSTANTIATE_TEST_SUITE_P(name, PeersContract, types);        \
  INSTANTIATE_TEST_SUITE_P(name, SleepContract, types)
