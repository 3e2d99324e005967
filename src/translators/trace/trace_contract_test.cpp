#include "translators/contract/contract.hpp"
#include "translators/loopback/loopback_network.hpp"
#include "translators/trace/trace.hpp"

namespace heddle::translators::contract {

class TracedNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return rank == 0 ? left_ : right_; }
  Contact nobody() override { return loopback_.nobody(); }
  Contact gone() override { return loopback_.gone(); }

 private:
  LoopbackNetwork loopback_;
  std::array<std::vector<TraceRecord>, 2> records_;
  Trace left_{loopback_.at(0), records_[0]};
  Trace right_{loopback_.at(1), records_[1]};
};
HEDDLE_TRANSLATOR_CONTRACT(Trace, TracedNetwork);

} // namespace heddle::translators::contract
