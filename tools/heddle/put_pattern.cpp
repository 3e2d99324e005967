#include "put_pattern.hpp"

#include "routing/edge_colouring.hpp"

#include <fmt/core.h>

#include <map>
#include <utility>

namespace heddle::tool {
namespace {

using routing::Stage;
using traffic::Put;
using traffic::wrong_at;

Result<routing::Flow> flow_of(const Put& put, std::uint32_t nodes) {
  if (put.direction)
    return std::unexpected(wrong_at(put.direction->place, "a tree has no directions: expected to, a node of the job"));
  const routing::Flow flow{.from = put.from ? put.from->value : 0, .to = put.to->value};
  for (const auto& node : {put.from, put.to})
    if (node && node->value >= nodes)
      return std::unexpected(
          wrong_at(node->place, fmt::format("there is no node {}: the job has nodes 0 to {}", node->value, nodes - 1)));
  if (flow.from == flow.to)
    return std::unexpected(wrong_at(put.to->place, fmt::format("node {} puts to itself", flow.to)));
  return flow;
}

// As the file has them: in each, nobody sends or receives twice.
Result<std::vector<Stage>> given_stages(const std::vector<Put>& puts, const std::vector<routing::Flow>& flows) {
  struct Busy {
    Stage stage;
    std::map<std::uint32_t, bool> sends, receives;
  };
  std::map<std::uint32_t, Busy> by_number;
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if (!puts[i].stage)
      return std::unexpected(wrong_at(puts[i].place, "a put without stage: expected one for every put, or for none"));
    Busy& busy = by_number[puts[i].stage->value];
    const std::uint32_t number = puts[i].stage->value;
    if (std::exchange(busy.sends[flows[i].from], true))
      return std::unexpected(
          wrong_at(puts[i].place, fmt::format("node {} sends twice in stage {}", flows[i].from, number)));
    if (std::exchange(busy.receives[flows[i].to], true))
      return std::unexpected(
          wrong_at(puts[i].place, fmt::format("node {} receives twice in stage {}", flows[i].to, number)));
    busy.stage.push_back(flows[i]);
  }
  std::vector<Stage> stages;
  for (auto& [number, busy] : by_number) stages.push_back(std::move(busy.stage));
  return stages;
}

// Colours of the edges from senders to receivers are stages: as many as the largest degree (König). A sender's puts keep their order where
// they can.
std::vector<Stage> fewest_stages(const std::vector<routing::Flow>& flows, std::uint32_t nodes) {
  std::vector<routing::Edge> edges;
  std::vector<std::uint32_t> wanted;
  std::vector<std::uint32_t> sent(nodes);
  for (const routing::Flow& flow : flows) {
    edges.push_back({flow.from, flow.to});
    wanted.push_back(sent[flow.from]++);
  }
  const std::uint32_t count = routing::degree(edges, nodes);
  routing::EdgeColouring colouring;
  const auto& colours = colouring.colour(edges, nodes, count, wanted);
  std::vector<Stage> stages(count);
  for (std::size_t i = 0; i < flows.size(); ++i) stages[colours[i]].push_back(flows[i]);
  return stages;
}

} // namespace

Result<routing::Pattern> pattern_of_puts(const std::vector<Put>& puts, std::uint32_t nodes) {
  std::vector<routing::Flow> flows;
  for (const Put& put : puts) {
    const auto flow = flow_of(put, nodes);
    if (!flow) return std::unexpected(flow.error());
    flows.push_back(*flow);
  }
  if (!puts.front().stage) {
    for (const Put& put : puts)
      if (put.stage)
        return std::unexpected(wrong_at(put.stage->place, "a stage: expected one for every put, or for none"));
    return routing::Pattern::of("puts", nodes, fewest_stages(flows, nodes));
  }
  auto stages = given_stages(puts, flows);
  if (!stages) return std::unexpected(std::move(stages.error()));
  return routing::Pattern::of("puts", nodes, std::move(*stages));
}

} // namespace heddle::tool
