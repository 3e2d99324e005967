#include "halo_on_tofu.hpp"

#include "base/refusal.hpp"
#include "sim/description.hpp"
#include "translators/simulated/tofu/tofu.hpp"

namespace heddle::tool {

Result<schedule::Problem> grid_on_tofu(std::span<const StepPut> puts, std::string_view text) {
  using namespace translators::simulated;
  if (!text.starts_with("tofu:"))
    return refuse("'" + std::string(text) + "': puts are planned onto the engines of a tofu:XxYxZ");
  auto fabric = sim::parse_fabric(text);
  if (!fabric) return std::unexpected(fabric.error());
  auto network = sim::PacketNetwork::make(std::move(*fabric));
  if (!network) return std::unexpected(network.error());
  Interconnect interconnect(std::move(*network), {0, 1});
  const Tofu tofu(interconnect, ir::Peer{0});
  return grid_problem(puts, tofu.resources(), tofu.route(ir::Peer{1}, 0).front().rate);
}

Result<schedule::Problem> halo_on_tofu(const std::vector<HaloPut>& puts, std::string_view text) {
  std::vector<StepPut> steps;
  for (const HaloPut& put : puts) steps.push_back({step_of(put.direction), put.bytes});
  return grid_on_tofu(steps, text);
}

} // namespace heddle::tool
