#include "translators/contract/contract.hpp"
#include "translators/faulty/faulty.hpp"
#include "translators/loopback/loopback_network.hpp"

namespace heddle::translators::contract {

// Faults that the contract allows to every network.
inline FaultPlan no_faults(std::uint64_t seed) {
  return {.seed = seed};
}
inline FaultPlan slow_and_short(std::uint64_t seed) {
  return {.seed = seed, .short_count = 0.3, .delay_command = 0.3, .delay_event = 0.3, .longest_delay = 5};
}
inline FaultPlan slow_short_and_unordered(std::uint64_t seed) {
  FaultPlan plan = slow_and_short(seed);
  plan.reorder_events = 0.5;
  plan.reorder_commands = true; // without effect: loopback orders puts
  return plan;
}

template <FaultPlan (*Plan)(std::uint64_t seed)>
class FaultyNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return rank == 0 ? left_ : right_; }
  Contact nobody() override { return loopback_.nobody(); }
  Contact gone() override { return loopback_.gone(); }

 private:
  LoopbackNetwork loopback_;
  Faulty left_{loopback_.at(0), Plan(1)};
  Faulty right_{loopback_.at(1), Plan(2)};
};

using FaultlessNetwork = FaultyNetwork<no_faults>;
using SlowNetwork = FaultyNetwork<slow_and_short>;
using UnorderedNetwork = FaultyNetwork<slow_short_and_unordered>;
HEDDLE_TRANSLATOR_CONTRACT(FaultyWithoutFaults, FaultlessNetwork);
HEDDLE_TRANSLATOR_CONTRACT(FaultySlowAndShort, SlowNetwork);
HEDDLE_TRANSLATOR_CONTRACT(FaultySlowShortAndUnordered, UnorderedNetwork);

} // namespace heddle::translators::contract
