#include "sim/description.hpp"
#include "translators/contract/contract.hpp"
#include "translators/decorator.hpp"
#include "translators/simulated/infiniband/infiniband.hpp"
#include "translators/simulated/rhinet/rhinet.hpp"
#include "translators/simulated/tofu/tofu.hpp"

namespace heddle::translators::contract {
namespace {

// Virtual time passes whenever the process looks for events.
class Driven final : public Decorator {
 public:
  Driven(ir::Translator& inner, simulated::Interconnect& interconnect)
      : Decorator(inner), interconnect_(interconnect) {}
  std::size_t poll(std::span<ir::Event> events) override {
    EXPECT_TRUE(interconnect_.settle());
    return inner().poll(events);
  }

 private:
  simulated::Interconnect& interconnect_;
};

template <typename Translator>
class SimulatedNetwork : public Network {
 public:
  explicit SimulatedNetwork(const char* fabric)
      : interconnect_(*sim::make_network(*sim::parse_fabric(fabric)), {0, 1, 2}),
        inner_{Translator(interconnect_, ir::Peer{0}), Translator(interconnect_, ir::Peer{1})},
        driven_{Driven(inner_[0], interconnect_), Driven(inner_[1], interconnect_)} {}

  ir::Translator& at(std::uint32_t rank) override { return driven_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{2}, .address = {}}; }
  Contact gone() override {
    const Translator third(interconnect_, ir::Peer{2});
    return {.peer = ir::Peer{2}, .address = third.address()};
  }
  [[nodiscard]] bool threads() const override { return false; }

 private:
  simulated::Interconnect interconnect_;
  std::array<Translator, 2> inner_;
  std::array<Driven, 2> driven_;
};

struct InfinibandNetwork : SimulatedNetwork<simulated::Infiniband> {
  InfinibandNetwork() : SimulatedNetwork("infiniband:2-ary-2-tree,lmc=1") {}
};
struct TofuNetwork : SimulatedNetwork<simulated::Tofu> {
  TofuNetwork() : SimulatedNetwork("tofu:1x1x1") {}
};
struct RhinetNetwork : SimulatedNetwork<simulated::Rhinet> {
  RhinetNetwork() : SimulatedNetwork("rhinet:star:4") {}
};

} // namespace

HEDDLE_TRANSLATOR_CONTRACT(SimulatedInfiniband, InfinibandNetwork);
HEDDLE_TRANSLATOR_CONTRACT(SimulatedTofu, TofuNetwork);
HEDDLE_TRANSLATOR_CONTRACT(SimulatedRhinet, RhinetNetwork);

} // namespace heddle::translators::contract
