#include "nodes_on_tofu.hpp"

#include "base/refusal.hpp"
#include "sim/description.hpp"
#include "translators/simulated/tofu/tofu.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace heddle::tool {

using namespace translators::simulated;

struct NodesOnTofu::Network {
  Network(sim::PacketNetwork network, std::vector<std::uint32_t> nodes)
      : interconnect(std::move(network), std::move(nodes)) {}
  mutable Interconnect interconnect;
};

NodesOnTofu::NodesOnTofu(std::unique_ptr<Network> network) : network_(std::move(network)) {}
NodesOnTofu::NodesOnTofu(NodesOnTofu&&) noexcept = default;
NodesOnTofu& NodesOnTofu::operator=(NodesOnTofu&&) noexcept = default;
NodesOnTofu::~NodesOnTofu() = default;

Result<NodesOnTofu> NodesOnTofu::make(const std::string& text, std::uint32_t last) {
  constexpr std::uint32_t kGroup = 12; // nodes
  if (!text.empty() && !text.starts_with("tofu:"))
    return refuse(fmt::format("--fabric is '{}': puts are planned onto the engines of a tofu:XxYxZ", text));
  constexpr std::uint32_t kMostGroups = 4096; // in a row
  const std::uint32_t groups = std::min(last / kGroup + 1, kMostGroups);
  auto fabric = sim::parse_fabric(text.empty() ? fmt::format("tofu:{}x1x1", groups) : text);
  if (!fabric) return std::unexpected(fabric.error());
  const std::uint32_t count = fabric->nodes;
  auto network = sim::PacketNetwork::make(std::move(*fabric));
  if (!network) return std::unexpected(network.error());
  std::vector<std::uint32_t> nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0U);
  return NodesOnTofu(std::make_unique<Network>(std::move(*network), std::move(nodes)));
}

std::uint32_t NodesOnTofu::nodes() const {
  return network_->interconnect.network().fabric().nodes;
}

schedule::Problem NodesOnTofu::problem(std::uint32_t from, std::span<const NodePut> puts,
                                       std::vector<std::string>& links) const {
  const Tofu tofu(network_->interconnect, ir::Peer{from});
  const sim::Fabric& fabric = network_->interconnect.network().fabric();
  schedule::Problem problem{.resources = tofu.resources()};
  std::map<std::uint32_t, std::uint32_t> numbers;   // of links
  std::map<std::uint32_t, std::uint32_t> receivers; // by node
  for (const NodePut& put : puts) {
    const std::uint32_t receiver =
        receivers.emplace(put.to, static_cast<std::uint32_t>(receivers.size())).first->second;
    std::vector<std::uint32_t> path;
    for (const ir::PathLink& link : tofu.route(ir::Peer{put.to}, 0)) {
      const auto [number, fresh] = numbers.emplace(link.link, static_cast<std::uint32_t>(links.size()));
      path.push_back(number->second);
      if (!fresh) continue;
      problem.link_rates.push_back(link.rate);
      const sim::Link& cable = fabric.links[link.link];
      links.push_back(fmt::format("{}->{}", fabric.name_of(cable.from), fabric.name_of(cable.to)));
    }
    problem.add({.bytes = put.bytes, .peer = put.to, .receiver = receiver, .direction = receiver},
                std::span<const std::uint32_t>(path));
  }
  return problem;
}

} // namespace heddle::tool
