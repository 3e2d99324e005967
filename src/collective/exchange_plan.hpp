// One all-to-all under way, by either algorithm.
#pragma once

#include "collective/blocks.hpp"
#include "collective/costs.hpp"
#include "collective/grouping.hpp"
#include "collective/plan_messages.hpp"

#include <cstdint>
#include <memory>

namespace heddle::collective {

class ExchangePlan {
 public:
  ExchangePlan(engine::Engine& engine, Tag tag, PlanMessages::Room room = {}) : messages_(engine, tag, room) {}
  virtual ~ExchangePlan() = default;
  ExchangePlan(const ExchangePlan&) = delete;
  ExchangePlan& operator=(const ExchangePlan&) = delete;

  // Starts and ends what it can; returns how many steps were made. After give_up nothing more is started.
  std::size_t advance() { return given_up_ ? messages_.settle() : work(); }
  // Everything has ended: the memory is the caller's again.
  [[nodiscard]] bool over() const { return messages_.all_ended() && (given_up_ || all_started()); }
  // Nobody waits for a message of this process.
  [[nodiscard]] bool said_all() const { return messages_.sends_ended() && (given_up_ || all_started()); }
  // A process is gone for good.
  void give_up() {
    given_up_ = true;
    messages_.note(ErrorCode::peer_failed);
    messages_.give_up();
  }

  [[nodiscard]] ErrorCode code() const { return messages_.code(); }
  [[nodiscard]] virtual std::uint64_t received() const = 0; // bytes, the process's own block included

 protected:
  virtual std::size_t work() = 0;
  [[nodiscard]] virtual bool all_started() const = 0;
  PlanMessages messages_;

 private:
  bool given_up_ = false;
};

// The 2-level ring (grouping.hpp): every block travels once, straight to its process. Between machines a few steps are under way at a
// time: enough that small messages do not wait for each other's latency, few enough that large ones keep the step that their paths were
// chosen for. Inside one machine there are no paths, and whoever is waited for may not be running: all steps begin at once, so that a
// process that gets the core finds all that the others had for it.
class RingExchange final : public ExchangePlan {
 public:
  // The grouping outlives it.
  RingExchange(engine::Engine& engine, Tag tag, const Grouping& grouping, ConstBlockView out, BlockView in);
  [[nodiscard]] std::uint64_t received() const override { return own_bytes_ + messages_.received(); }

 private:
  std::size_t work() override;
  [[nodiscard]] bool all_started() const override { return next_step_ == grouping_.steps(); }
  [[nodiscard]] bool may_start() const;
  void start_step();
  void turn_to(std::uint64_t step);

  engine::Engine& engine_;
  const Grouping& grouping_;
  std::uint32_t rank_;
  ConstBlockView out_;
  BlockView in_;
  std::uint64_t own_bytes_ = 0;
  std::uint64_t next_step_ = 0;
  Grouping::Partners next_; // of that step: asked for often, while it may not start
};

// Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997. Blocks of equal
// size travel together: in round k, those whose distance to go has the digit z at place k, in base `radix`, go z * radix^k ranks
// further. With radix 2, ceil(log2 n) messages of half the blocks each, one after the other, instead of n - 1 of one block. A larger
// radix makes fewer rounds, in which radix - 1 messages go at once; from the root of n on there are two.
class BruckExchange final : public ExchangePlan {
 public:
  BruckExchange(engine::Engine& engine, Tag tag, std::uint32_t radix, ConstBlockView out, BlockView in);
  [[nodiscard]] std::uint64_t received() const override;

 private:
  std::size_t work() override;
  [[nodiscard]] bool all_started() const override { return delivered_; }
  void start_round();
  void unpack();
  void deliver();
  template <typename Visit>
  void visit_travellers(std::uint32_t digit, Visit&& visit) const;

  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint32_t radix_;
  BlockView in_;
  std::uint64_t each_;
  std::vector<std::byte> blocks_; // [distance still to go, when it was sent]
  std::vector<std::byte> packed_; // those that travel in this round
  std::vector<std::byte> arrived_;
  std::uint32_t weight_ = 0; // radix^k in round k; 0: none yet
  bool delivered_ = false;
};

// What blocks of that size between so many processes are expected to take. A pure function of what all processes know, so that all
// choose alike.
struct ExpectedTimes {
  double ring_ns = 0;
  double bruck_ns = 0;
  std::uint32_t radix = 2; // of Bruck's algorithm: the quickest
};
ExpectedTimes expected_times(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs);
bool bruck_pays(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs);

} // namespace heddle::collective
