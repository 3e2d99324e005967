// Simulated InfiniBand: queue pairs must be connected, memory is named by keys, peers by LID; writes are not announced.
#pragma once

#include "translators/simulated/simulated.hpp"

namespace heddle::translators::simulated {

class Infiniband final : public Simulated, public ir::Endpoints {
 public:
  Infiniband(Interconnect& interconnect, ir::Peer self);

  [[nodiscard]] std::string_view name() const override { return "simulated/infiniband"; }
  [[nodiscard]] ir::Facets facets() override { return {.endpoints = this, .areas = this, .paths = this}; }
  [[nodiscard]] ir::Address address() const override;
  Result<ir::Endpoint> prepare_endpoint(ir::Peer peer) override;
  Result<void> connect_endpoint(ir::Peer peer, const ir::Endpoint& endpoint) override;

  // Of the interface's engines a process uses one, that of its send queue: which one is not for a command to say.
  [[nodiscard]] ir::Resources resources() const override {
    ir::Resources resources = Simulated::resources();
    resources.engines = 1;
    return resources;
  }
  // One path for each LID of the peer.
  [[nodiscard]] std::uint32_t paths_to(ir::Peer peer) const override {
    return known_[static_cast<std::uint32_t>(peer)].lids;
  }
  // As routing::Location.
  [[nodiscard]] std::uint64_t location() const override;
  void choose_path(ir::Peer peer, std::uint32_t offset) override {
    known_[static_cast<std::uint32_t>(peer)].offset = offset;
  }

 protected:
  [[nodiscard]] ir::MemoryKey key_for(std::uint64_t serial) const override;
  Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) override;
  [[nodiscard]] Steering way_to(ir::Peer peer, const ir::Command& command, bool answer) const override;
  [[nodiscard]] bool admits(ir::Peer from, ir::MemoryKey key) const override;
  [[nodiscard]] sim::Heading heading_to(ir::Peer peer, std::uint32_t path) const override;

 private:
  struct Card { // what an address holds
    std::uint32_t lid = 0;
    std::uint32_t lids = 0;
    ir::MemoryKey bootstrap{};
  };
  struct QueuePair { // what an endpoint holds
    std::uint32_t lid = 0;
    std::uint32_t number = 0;
  };
  struct Known {
    std::uint32_t lid = 0; // the peer's first
    std::uint32_t lids = 0;
    std::uint32_t offset = 0; // of the LID that the queue pair is made with
    bool ready = false;       // queue pair connected
  };
  [[nodiscard]] Card own_card() const;

  std::vector<Known> known_; // by rank
};

} // namespace heddle::translators::simulated
