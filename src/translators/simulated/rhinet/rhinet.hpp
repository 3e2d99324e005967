// Simulated RHiNET-1: no connections; memory is named by the id of a communication area; writes are not announced, the
// program looks at its memory.
#pragma once

#include "translators/simulated/simulated.hpp"

namespace heddle::translators::simulated {

class Rhinet final : public Simulated {
 public:
  Rhinet(Interconnect& interconnect, ir::Peer self);

  [[nodiscard]] std::string_view name() const override { return "simulated/rhinet"; }
  [[nodiscard]] ir::Facets facets() override {
    return {.areas = this, .groups = interconnect().network().copies() ? this : nullptr, .paths = this};
  }
  [[nodiscard]] ir::Address address() const override;

 protected:
  [[nodiscard]] ir::MemoryKey key_for(std::uint64_t serial) const override;
  Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) override;
  [[nodiscard]] Steering way_to(ir::Peer peer, const ir::Command& command, bool answer) const override;

 private:
  struct Card { // what an address holds
    std::uint32_t node = 0;
    std::uint32_t process = 0;
    ir::MemoryKey bootstrap{};
  };
};

} // namespace heddle::translators::simulated
