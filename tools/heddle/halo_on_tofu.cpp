#include "halo_on_tofu.hpp"

#include "sim/description.hpp"
#include "translators/simulated/tofu/tofu.hpp"

namespace heddle::tool {

Result<schedule::Problem> halo_on_tofu(const std::vector<HaloPut>& puts, std::string_view text) {
  using namespace translators::simulated;
  auto fabric = sim::parse_fabric(text);
  if (!fabric) return std::unexpected(fabric.error());
  auto network = sim::PacketNetwork::make(std::move(*fabric));
  if (!network) return std::unexpected(network.error());
  Interconnect interconnect(std::move(*network), {0, 1});
  const Tofu tofu(interconnect, ir::Peer{0});
  return halo_problem(puts, tofu.resources(), tofu.route(ir::Peer{1}, 0).front().rate);
}

} // namespace heddle::tool
