#include "translators/contract/contract.hpp"
#include "translators/loopback/loopback_network.hpp"
#include "translators/trace/trace.hpp"

namespace heddle::translators::contract {

class TracedNetwork {
 public:
  static constexpr bool kThreads = true;

  ir::Translator& at(std::uint32_t rank) { return rank == 0 ? left_ : right_; }
  static Contact nobody() { return LoopbackNetwork::nobody(); }
  Contact gone() { return loopback_.gone(); }

 private:
  LoopbackNetwork loopback_;
  std::array<std::vector<TraceRecord>, 2> records_;
  Trace left_{loopback_.at(0), records_[0]};
  Trace right_{loopback_.at(1), records_[1]};
};
HEDDLE_TRANSLATOR_CONTRACT(Trace, TracedNetwork);

} // namespace heddle::translators::contract
