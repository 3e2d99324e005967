#include "collective/exchange_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle::collective {

namespace {

// A block that travels is packed and unpacked, beside being sent.
constexpr double kCopies = 2;

// The ring connects everybody with everybody. In larger jobs those connections take more memory and time than a slower exchange.
constexpr std::uint32_t kManyConnections = 512;
constexpr double kSlowerForFewer = 2;

} // namespace

// Messages to many peers overlap, so that each costs only what posting it takes; a round of Bruck's waits for the one before, so that it
// costs the whole way.
ExpectedTimes expected_times(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs) {
  const double others = processes - 1;
  const double block = costs.byte_ns * static_cast<double>(block_bytes);
  ExpectedTimes times{.ring_ns = costs.way_ns + others * (costs.posting_ns + block)};
  std::uint32_t two_rounds = 2;
  while (std::uint64_t{two_rounds} * two_rounds < processes) two_rounds *= 2;
  // What lies between was measured to be slower than one of these, or as quick: more rounds, each with collisions of its own.
  for (const std::uint32_t radix : {2U, two_rounds}) {
    double bruck_ns = 0;
    for (std::uint64_t weight = 1; weight < processes; weight *= radix) {
      const auto digits = static_cast<double>(std::min<std::uint64_t>(radix - 1, (processes - 1) / weight));
      bruck_ns += costs.way_ns + (digits - 1) * costs.posting_ns + kCopies * block * processes * digits / (digits + 1);
    }
    if (radix > 2 && bruck_ns >= times.bruck_ns) continue;
    times.bruck_ns = bruck_ns;
    times.radix = radix;
  }
  return times;
}

bool bruck_pays(std::uint32_t processes, std::uint64_t block_bytes, const Costs& costs) {
  if (processes < 4) return false; // as many messages either way
  const ExpectedTimes expected = expected_times(processes, block_bytes, costs);
  return expected.bruck_ns < expected.ring_ns * (processes > kManyConnections ? kSlowerForFewer : 1);
}

BruckExchange::BruckExchange(engine::Engine& engine, Tag tag, std::uint32_t radix, ConstBlockView out, BlockView in)
    : ExchangePlan(engine, tag, {.messages = std::size_t{2} * radix}),
      rank_(engine.rank()),
      size_(engine.size()),
      radix_(radix),
      in_(std::move(in)),
      each_(out.each()),
      blocks_(size_ * each_),
      packed_(radix == 2 ? (size_ + 1) / 2 * each_ : blocks_.size()),
      arrived_(packed_.size()) {
  for (std::uint32_t i = 0; i < size_; ++i) {
    const auto block = out.block((rank_ + i) % size_);
    std::memcpy(blocks_.data() + i * each_, block.data(), each_);
  }
}

// Calls visit(block) for each block that has this digit in this round.
template <typename Visit>
void BruckExchange::visit_travellers(std::uint32_t digit, Visit&& visit) const {
  for (std::uint64_t first = std::uint64_t{digit} * weight_; first < size_; first += std::uint64_t{radix_} * weight_)
    for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + weight_, size_); ++i) visit(i * each_);
}

std::size_t BruckExchange::work() {
  std::size_t steps = messages_.settle();
  while (!delivered_ && messages_.all_ended()) {
    if (weight_ != 0) unpack();
    weight_ = weight_ == 0 ? 1 : radix_ * weight_;
    if (weight_ < size_)
      start_round();
    else
      deliver();
    ++steps;
    steps += messages_.settle();
  }
  return steps;
}

void BruckExchange::start_round() {
  std::size_t place = 0;
  for (std::uint32_t digit = 1; digit < radix_ && digit * std::uint64_t{weight_} < size_; ++digit) {
    const std::size_t begin = place;
    visit_travellers(digit, [&](std::size_t block) {
      std::memcpy(packed_.data() + place, blocks_.data() + block, each_);
      place += each_;
    });
    const std::uint32_t distance = digit * weight_;
    messages_.receive((rank_ + size_ - distance) % size_, std::span(arrived_).subspan(begin, place - begin));
    messages_.send((rank_ + distance) % size_, std::span(packed_).subspan(begin, place - begin));
  }
}

void BruckExchange::unpack() {
  std::size_t place = 0;
  for (std::uint32_t digit = 1; digit < radix_ && digit * std::uint64_t{weight_} < size_; ++digit)
    visit_travellers(digit, [&](std::size_t block) {
      std::memcpy(blocks_.data() + block, arrived_.data() + place, each_);
      place += each_;
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
