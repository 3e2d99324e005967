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
  // Packets go dimension by dimension, so places say it all.
  [[nodiscard]] std::optional<std::vector<ir::PathLink>> route_between(ir::Peer from, ir::Peer to) const override {
    return links_from(from, heading_to(to, 0));
  }
  void choose_engine(ir::Peer peer, std::uint8_t engine) override {
    chosen_[static_cast<std::uint32_t>(peer)] = engine;
  }

 protected:
  [[nodiscard]] ir::MemoryKey key_for(std::uint64_t serial) const override;
  Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) override;
  [[nodiscard]] Steering way_to(ir::Peer peer, const ir::Command& command, bool answer) const override;

 private:
  std::vector<std::uint8_t> chosen_; // by rank; kAnyEngine: nobody has
};

} // namespace heddle::translators::simulated
