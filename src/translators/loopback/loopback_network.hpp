// Two peers on a loopback network, for the contract suite and the decorators' tests.
#pragma once

#include "translators/contract/network.hpp"
#include "translators/loopback/loopback.hpp"

namespace heddle::translators::contract {

class LoopbackNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return rank == 0 ? left_ : right_; }
  Contact nobody() override { return {.peer = ir::Peer{2}, .address = {}}; }
  Contact gone() override {
    const Loopback third(fabric, ir::Peer{2});
    return {.peer = ir::Peer{2}, .address = third.address()};
  }

  LoopbackFabric fabric{3};

 private:
  Loopback left_{fabric, ir::Peer{0}};
  Loopback right_{fabric, ir::Peer{1}};
};

} // namespace heddle::translators::contract
