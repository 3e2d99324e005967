#include "collective/exchange_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::collective {

namespace {

// A block that travels is packed and unpacked, beside being sent.
constexpr double kCopies = 2;

} // namespace

// Messages to many peers overlap, so that each costs only what posting it takes; a round of Bruck's waits for the one before, so that it
// costs the whole way.
ExpectedTimes expected_times(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs) {
  const double rounds = std::bit_width(processes - 1);
  const double others = processes - 1;
  const double block = costs.byte_ns * static_cast<double>(block_bytes);
  return {.ring_ns = costs.way_ns + others * (costs.posting_ns + block),
          .bruck_ns = rounds * (costs.way_ns + kCopies * block * processes / 2)};
}

bool bruck_pays(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs) {
  if (processes < 4) return false; // as many messages either way
  const ExpectedTimes expected = expected_times(processes, block_bytes, costs);
  return expected.bruck_ns < expected.ring_ns;
}

BruckExchange::BruckExchange(engine::Engine& engine, Tag tag, ConstBlockView out, BlockView in)
    : ExchangePlan(engine, tag),
      rank_(engine.rank()),
      size_(engine.size()),
      in_(std::move(in)),
      each_(out.each()),
      blocks_(size_ * each_),
      packed_((size_ + 1) / 2 * each_),
      arrived_(packed_.size()) {
  for (std::uint32_t i = 0; i < size_; ++i) {
    const auto block = out.block((rank_ + i) % size_);
    std::memcpy(blocks_.data() + i * each_, block.data(), each_);
  }
}

// Calls visit(block, place among those that travel) for each block of this round.
template <typename Visit>
void BruckExchange::visit_travellers(Visit&& visit) const {
  std::uint32_t place = 0;
  for (std::uint32_t i = distance_; i < size_; ++i)
    if ((i & distance_) != 0) visit(i * each_, place++ * each_);
}

std::size_t BruckExchange::work() {
  std::size_t steps = messages_.settle();
  while (!delivered_ && messages_.all_ended()) {
    if (distance_ != 0) unpack();
    distance_ = distance_ == 0 ? 1 : 2 * distance_;
    if (distance_ < size_)
      start_round();
    else
      deliver();
    ++steps;
    steps += messages_.settle();
  }
  return steps;
}

void BruckExchange::start_round() {
  std::size_t bytes = 0;
  visit_travellers([&](std::size_t block, std::size_t place) {
    std::memcpy(packed_.data() + place, blocks_.data() + block, each_);
    bytes = place + each_;
  });
  messages_.receive((rank_ + size_ - distance_) % size_, std::span(arrived_).first(bytes));
  messages_.send((rank_ + distance_) % size_, std::span(packed_).first(bytes));
}

void BruckExchange::unpack() {
  visit_travellers([&](std::size_t block, std::size_t place) {
    std::memcpy(blocks_.data() + block, arrived_.data() + place, each_);
  });
}

void BruckExchange::deliver() {
  for (std::uint32_t i = 0; i < size_; ++i)
    std::memcpy(in_.block((rank_ + size_ - i) % size_).data(), blocks_.data() + i * each_, each_);
  delivered_ = true;
}

std::uint64_t BruckExchange::received() const {
  return delivered_ ? size_ * each_ : 0;
}

} // namespace heddle::collective
