// Simulated Tofu: no connections; the bootstrap memory has the same tag everywhere, so nothing is exchanged; writes and
// reads are announced; commands name the engines at both ends.
#pragma once

#include "translators/simulated/simulated.hpp"

namespace heddle::translators::simulated {

class Tofu final : public Simulated {
 public:
  Tofu(Interconnect& interconnect, ir::Peer self);

  [[nodiscard]] std::string_view name() const override { return "simulated/tofu"; }
  [[nodiscard]] ir::Address address() const override { return {}; }

 protected:
  [[nodiscard]] ir::MemoryKey key_for(std::uint64_t serial) const override;
  Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) override;
  [[nodiscard]] Steering way_to(ir::Peer peer, const ir::Command& command, bool answer) const override;
};

} // namespace heddle::translators::simulated
