// The part of the contract suite for networks on which processes find each other by their addresses alone
// (Capabilities::open_world). One line in a *_test.cpp of the translator's own folder runs it:
// HEDDLE_OPEN_WORLD_CONTRACT(Tcp, open_tcp), where open_tcp(uid) makes the translator of a process with that unique id.
#pragma once

#include "translators/contract/network.hpp"

namespace heddle::translators::contract {

struct OpenNetworkType {
  const char* name;
  std::unique_ptr<ir::Translator> (*open)(std::uint64_t uid);
  // attach finds out at once that nobody is there any more. Otherwise who does not answer is called for a while.
  bool tells_at_once = true;
};
inline void PrintTo(const OpenNetworkType& type, std::ostream* out) {
  *out << type.name;
}

// A process of an open world, as its translator sees it.
class Stranger {
 public:
  Stranger(const OpenNetworkType& type, std::uint64_t uid)
      : uid_(uid), translator_(type.open(uid)), side_(*translator_) {
    const auto first = translator_->allocate(64); // what others are told of when they attach
    EXPECT_TRUE(first) << first.error().message();
    if (first) memory_ = first->memory;
  }

  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  // As a process that leaves: not before all that it has said has left it.
  ~Stranger() {
    side_.wait([this] { return translator_->drained(); });
  }

  [[nodiscard]] std::uint64_t uid() const { return uid_; }
  [[nodiscard]] Side& side() { return side_; }
  [[nodiscard]] ir::Translator& translator() { return *translator_; }
  [[nodiscard]] std::uint64_t word() const { return load_word(memory_.data()); }

  // Knows the other by that number from now on.
  ir::RemotePlace attach(Stranger& other, std::uint32_t number) {
    const auto place = translator_->attach(ir::Peer{number}, other.translator().address());
    EXPECT_TRUE(place) << place.error().message();
    return place ? *place : ir::RemotePlace{};
  }
  void detach(std::uint32_t number) { translator_->detach(ir::Peer{number}); }

 private:
  std::uint64_t uid_;
  std::unique_ptr<ir::Translator> translator_;
  Side side_;
  std::span<std::byte> memory_;
};

class OpenWorldContract : public ::testing::TestWithParam<OpenNetworkType> {
 public:
  std::unique_ptr<Stranger> open() { return std::make_unique<Stranger>(GetParam(), next_uid_++); }

  // What a process is told of others: who has gone, how, and under which number it had attached this one.
  struct Told {
    ir::EventKind kind{};
    std::uint64_t who = 0;    // its unique id, or where that is 0
    std::uint32_t number = 0; // by which it is known here
    std::uint64_t stay = 0;   // by which it had attached this one
    friend auto operator<=>(const Told&, const Told&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Told& told) {
      return out << (told.kind == ir::EventKind::peer_left ? "left" : "failed") << " uid " << told.who << " number "
                 << told.number << " stay " << told.stay;
    }
  };
  static Told left(std::uint64_t uid, std::uint64_t stay) {
    return {.kind = ir::EventKind::peer_left, .who = uid, .number = 0, .stay = stay};
  }
  static Told left(std::uint32_t number) { return {.kind = ir::EventKind::peer_left, .who = 0, .number = number}; }
  static Told failed(std::uint64_t uid, std::uint64_t stay) {
    return {.kind = ir::EventKind::peer_failed, .who = uid, .number = 0, .stay = stay};
  }
  static Told failed(std::uint32_t number) { return {.kind = ir::EventKind::peer_failed, .who = 0, .number = number}; }

  // Exactly this is told to it, in any order; whatever it is attached to or has as a guest otherwise, stays. `others` poll meanwhile.
  void expect_told(Stranger& host, std::vector<Told> expected, const std::vector<Stranger*>& others = {});

 private:
  void read(Stranger& host, std::vector<Told>& all, const std::vector<Stranger*>& others);
  std::uint64_t next_uid_ = 0x1234'5678'9abc'0001ULL;
};

} // namespace heddle::translators::contract

// Stands inside namespace heddle::translators::contract. A macro because GoogleTest registers by macro.
#define HEDDLE_OPEN_WORLD_CONTRACT(name, open_one) \
  HEDDLE_OPEN_WORLD_CONTRACT_OF(name, ::testing::Values(OpenNetworkType{#name, open_one}))
#define HEDDLE_OPEN_WORLD_CONTRACT_OF(name, types) INSTANTIATE_TEST_SUITE_P(name, OpenWorldContract, types)
