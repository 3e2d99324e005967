#include "translators/simulated/tofu/tofu.hpp"

#include "sim/tofu.hpp"

namespace heddle::translators::simulated {

namespace {

constexpr std::uint64_t kBootstrapTag = 0x7e; // agreed on once and for all

constexpr ir::Capabilities kTofu = {.announces_writes = true,
                                    .announces_reads = true,
                                    .orders_puts = true,
                                    .atomics = true,
                                    .atomics_with_processor = false,
                                    .atomics_on_any_memory = true,
                                    .reads_any_memory = true,
                                    .inline_bytes = 32,
                                    .largest_transfer = (std::uint64_t{1} << 24U) - 1};

} // namespace

Tofu::Tofu(Interconnect& interconnect, ir::Peer self)
    : Simulated(interconnect, self, kTofu), chosen_(interconnect.size(), ir::kAnyEngine) {}

ir::MemoryKey Tofu::key_for(std::uint64_t serial) const {
  return ir::MemoryKey{serial == 1 ? kBootstrapTag : serial << 8U};
}

Result<ir::MemoryKey> Tofu::learn(ir::Peer, const ir::Address&) {
  return ir::MemoryKey{kBootstrapTag};
}

Steering Tofu::way_to(ir::Peer peer, const ir::Command& command, bool answer) const {
  // Where the command leaves it open, all between two peers take the same engines: so they stay in order.
  const std::uint8_t chosen = chosen_[static_cast<std::uint32_t>(peer)];
  const auto engine = [&](std::uint8_t named, ir::Peer of) {
    if (named == ir::kAnyEngine) named = chosen;
    return static_cast<std::uint16_t>(
        named != ir::kAnyEngine ? named : static_cast<std::uint32_t>(of) % capabilities().engines);
  };
  if (answer)
    return {.send_engine = engine(command.receive_engine, peer),
            .receive_engine = engine(command.send_engine, self()),
            .lane = sim::tofu_lane(1)};
  return {.send_engine = engine(command.send_engine, peer),
          .receive_engine = engine(command.receive_engine, self()),
          .lane = sim::tofu_lane(0)};
}

} // namespace heddle::translators::simulated
