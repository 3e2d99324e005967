// What every contract test stands on: two peers of one network, and commands between them.
#pragma once

#include "ir/translator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>
#include <thread>
#include <vector>

namespace heddle::translators::contract {

struct Contact {
  ir::Peer peer{};
  ir::Address address{};
};

// Two peers on the network to be tested. Each translator's test derives one.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // The translators of peers 0 and 1, neither attached to anything.
  virtual ir::Translator& at(std::uint32_t rank) = 0;
  // Where no peer has ever been.
  virtual Contact nobody() = 0;
  // Where a peer was, and is no more.
  virtual Contact gone() = 0;
  // Two threads may work at once, each with the translator of one peer.
  [[nodiscard]] virtual bool threads() const { return true; }
};

// A type of network, as the suite is instantiated with it.
struct NetworkType {
  const char* name;
  std::unique_ptr<Network> (*make)();
};
inline void PrintTo(const NetworkType& type, std::ostream* out) {
  *out << type.name;
}

// Long enough for the slowest machine and sanitizer; reached only by a translator that is broken.
inline constexpr std::chrono::seconds kPatience{30};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 7 + i / 256 + seed) & 0xffU);
  return made;
}

// Commands as the tests need them; the caller adds flags and head.
inline ir::Command make_command(ir::Operation operation, std::uint32_t to, const ir::RemotePlace& remote) {
  ir::Command command;
  command.operation = operation;
  command.peer = ir::Peer{to};
  command.remote = remote;
  command.head.fill(std::byte{0});
  return command;
}
inline ir::Command put(std::uint32_t to, const ir::RemotePlace& remote, std::span<std::byte> from) {
  ir::Command command = make_command(ir::Operation::put, to, remote);
  command.local = from.data();
  command.bytes = from.size();
  return command;
}
inline ir::Command put_word(std::uint32_t to, const ir::RemotePlace& remote, std::uint64_t word) {
  ir::Command command = make_command(ir::Operation::put, to, remote);
  std::memcpy(command.head.data(), &word, sizeof word);
  command.head_bytes = sizeof word;
  return command;
}
inline ir::Command get(std::uint32_t from, const ir::RemotePlace& remote, std::span<std::byte> into) {
  ir::Command command = make_command(ir::Operation::get, from, remote);
  command.local = into.data();
  command.bytes = into.size();
  return command;
}
inline ir::Command compare_and_swap(std::uint32_t at, const ir::RemotePlace& remote, std::uint64_t expected,
                                    std::uint64_t operand) {
  ir::Command command = make_command(ir::Operation::compare_and_swap, at, remote);
  command.expected = expected;
  command.operand = operand;
  return command;
}
inline ir::Command fetch_and_add(std::uint32_t at, const ir::RemotePlace& remote, std::uint64_t operand) {
  ir::Command command = make_command(ir::Operation::fetch_and_add, at, remote);
  command.operand = operand;
  return command;
}

inline std::uint64_t load_word(const std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at))).load(std::memory_order_acquire);
}

// One peer's side: a translator, the events that came, and patience.
class Side {
 public:
  explicit Side(ir::Translator& translator) : translator_(translator) {}

  [[nodiscard]] ir::Translator& translator() { return translator_; }

  // Submits until it is taken; polls in between, as back-pressure asks for.
  void submit(const ir::Command& command) {
    wait([&] { return translator_.submit({&command, 1}) == 1; });
  }
  // Carries a command out with a cookie of its own and returns its event.
  ir::Event run(ir::Command command) {
    command.flags = command.flags | ir::Flags::signalled;
    command.cookie = next_cookie_++;
    submit(command);
    ir::Event found;
    wait([&] {
      const auto event =
          std::find_if(events_.begin(), events_.end(), [&](const ir::Event& e) { return e.cookie == command.cookie; });
      if (event == events_.end()) return false;
      found = *event;
      events_.erase(event);
      return true;
    });
    EXPECT_EQ(found.kind, ir::EventKind::completed);
    EXPECT_EQ(found.peer, command.peer);
    return found;
  }
  ir::Status status_of(const ir::Command& command) { return run(command).status; }

  void poll() {
    std::array<ir::Event, 16> batch;
    const std::size_t count = translator_.poll(batch);
    events_.insert(events_.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Polls until the condition holds; false when patience ends first.
  bool wait(std::predicate<> auto condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "waited " << kPatience.count() << " s in vain";
        return false;
      }
      poll();
      std::this_thread::yield();
    }
    return true;
  }
  // Everything given so far, after enough polls that nothing can be under way.
  std::vector<ir::Event>& events() {
    for (int i = 0; i < 200; ++i) poll();
    return events_;
  }

 private:
  ir::Translator& translator_;
  std::vector<ir::Event> events_;
  std::uint64_t next_cookie_ = 0x1'0000'0000'0001ULL; // no bit pattern that a rank or index would have
};

// Peers 0 and 1, attached to each other; `memory` is the first memory that peer 1 allocated, reached by peer 0 at `there`.
class Pair : public ::testing::TestWithParam<NetworkType> {
 public:
  static constexpr std::size_t kMemoryBytes = (std::size_t{1} << 20U) + 4096;

  void SetUp() override {
    // Peer 0's first, so that a translator that mixes the two up is found out.
    auto bootstrap = left.translator().allocate(64);
    ASSERT_TRUE(bootstrap) << bootstrap.error().message();
    auto exposed = right.translator().allocate(kMemoryBytes);
    ASSERT_TRUE(exposed) << exposed.error().message();
    memory = exposed->memory;
    expect(left, 1, right);
    expect(right, 0, left);
    const auto place = left.translator().attach(ir::Peer{1}, right.translator().address());
    ASSERT_TRUE(place) << place.error().message();
    there = *place;
    ASSERT_TRUE(right.translator().attach(ir::Peer{0}, left.translator().address()));
    connect();
  }

  [[nodiscard]] std::uint64_t largest_transfer() { return left.translator().capabilities().largest_transfer; }

  // By the C library: tests are not optimised, and these look at every byte again and again.
  void fill(std::byte value) { std::memset(memory.data(), static_cast<int>(value), memory.size()); }
  [[nodiscard]] bool all(std::byte value) const {
    return memory.front() == value && std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1) == 0;
  }

  std::unique_ptr<Network> network = GetParam().make();
  Side left{network->at(0)};
  Side right{network->at(1)};
  std::span<std::byte> memory;
  ir::RemotePlace there;

 private:
  static void expect(Side& side, std::uint32_t number, Side& other) {
    if (ir::Senders* senders = side.translator().facets().senders)
      senders->expect(ir::Peer{number}, other.translator().address());
  }
  void connect() {
    ir::Endpoints* of_left = left.translator().facets().endpoints;
    ir::Endpoints* of_right = right.translator().facets().endpoints;
    if (of_left == nullptr) return;
    const auto here = of_left->prepare_endpoint(ir::Peer{1});
    const auto far = of_right->prepare_endpoint(ir::Peer{0});
    ASSERT_TRUE(here && far);
    ASSERT_TRUE(of_left->connect_endpoint(ir::Peer{1}, *far));
    ASSERT_TRUE(of_right->connect_endpoint(ir::Peer{0}, *here));
  }
};

} // namespace heddle::translators::contract
