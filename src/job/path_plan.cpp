#include "job/path_plan.hpp"

#include "base/text_file.hpp"
#include "routing/ibnetdiscover.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"

#include <algorithm>
#include <mutex>

namespace heddle::job {

namespace {

Error wrong(const std::string& option, std::string fact, std::string remedy) {
  return {
      .code = ErrorCode::bad_option, .fact = "option " + option + ": " + std::move(fact), .remedy = std::move(remedy)};
}

Error of_option(const std::string& option, const Error& error) {
  return wrong(option, error.fact, error.remedy);
}

Result<routing::Fabric> open_fabric(const std::string& topology) {
  // No file is taken for a tree: a tree's name is a number and then this.
  if (topology.find("-ary-") != std::string::npos && topology.find('/') == std::string::npos) {
    const auto shape = routing::parse_tree(topology);
    if (!shape) return std::unexpected(shape.error());
    return routing::build_tree(*shape);
  }
  const auto text = base::read_text_file(topology, {.what = "topology", .most = routing::kLargestFile});
  if (!text)
    return std::unexpected(Error{.fact = text.error().fact + ", and it is not a tree",
                                 .remedy = "give a tree such as 6-ary-2-tree:30, or what ibnetdiscover printed"});
  return routing::parse_ibnetdiscover(*text);
}

// "TREE,lids=RULE" or "FILE,lids=RULE": the text before it, and the rule; without it, the conventional one.
Result<std::pair<std::string, routing::LidRule>> split_topology(const std::string& topology) {
  constexpr std::string_view kRule = ",lids=";
  const std::size_t at = topology.rfind(kRule);
  if (at == std::string::npos) return std::pair(topology, routing::kConventionalLids);
  const auto rule = routing::parse_lid_rule(std::string_view(topology).substr(at + kRule.size()));
  if (!rule) return std::unexpected(rule.error());
  return std::pair(topology.substr(0, at), *rule);
}

Result<routing::Subnet> open_subnet(const std::string& topology, std::uint32_t lmc) {
  const auto parts = split_topology(topology);
  if (!parts) return std::unexpected(parts.error());
  auto fabric = open_fabric(parts->first);
  if (!fabric) return std::unexpected(fabric.error());
  return routing::make_subnet(std::move(*fabric), lmc, parts->second);
}

// The host that each process is on.
Result<std::vector<routing::HostIndex>> find_hosts(const routing::Subnet& subnet, const std::string& topology,
                                                   std::span<const routing::Location> locations) {
  std::vector<routing::HostIndex> hosts;
  for (std::size_t rank = 0; rank < locations.size(); ++rank) {
    const routing::Location& location = locations[rank];
    const std::uint32_t host = (location.base_lid >> subnet.lids.lmc) - 1;
    const bool there = location.lmc == subnet.lids.lmc && host < subnet.lids.hosts &&
                       subnet.lids.lid(host, 0) == location.base_lid && subnet.fabric.hosts[host].present;
    if (!there)
      return std::unexpected(wrong("topology",
                                   "rank " + std::to_string(rank) + " has LID " + std::to_string(location.base_lid) +
                                       " with lmc " + std::to_string(location.lmc) + ", which no host of " + topology +
                                       " has",
                                   "give the fabric that the job runs on, with the LIDs of `heddle route tables`"));
    hosts.push_back(host);
  }
  return hosts;
}

} // namespace

Result<std::shared_ptr<const PathPlan>> PathPlan::plan(const std::string& topology, const std::string& method,
                                                       std::span<const routing::Location> locations) {
  struct Last {
    std::mutex lock;
    std::string topology;
    std::string method;
    std::vector<routing::Location> locations;
    std::weak_ptr<const PathPlan> paths;
  };
  static Last last;
  const std::lock_guard guard(last.lock);
  if (auto paths = last.paths.lock(); paths != nullptr && last.topology == topology && last.method == method &&
                                      std::ranges::equal(last.locations, locations))
    return paths;
  auto made = plan_anew(topology, method, locations);
  if (!made) return std::unexpected(std::move(made.error()));
  const auto paths = std::make_shared<const PathPlan>(std::move(*made));
  last.topology = topology;
  last.method = method;
  last.locations.assign(locations.begin(), locations.end());
  last.paths = paths;
  return paths;
}

Result<PathPlan> PathPlan::plan_anew(const std::string& topology, const std::string& method,
                                     std::span<const routing::Location> locations) {
  const auto way = routing::parse_method(method);
  if (!way) return std::unexpected(of_option("paths", way.error()));
  const auto subnet = open_subnet(topology, locations.empty() ? 0 : locations.front().lmc);
  if (!subnet) return std::unexpected(of_option("topology", subnet.error()));
  const auto host_of = find_hosts(*subnet, topology, locations);
  if (!host_of) return std::unexpected(host_of.error());
  std::vector<routing::HostIndex> hosts = *host_of;
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  const auto job = routing::make_job(subnet->fabric, hosts);
  if (!job) return std::unexpected(of_option("topology", job.error()));
  const auto selection = routing::select(*subnet, *job, *way, routing::Pattern::shift(job->nodes()));
  if (!selection) return std::unexpected(of_option("paths", selection.error()));

  PathPlan paths;
  paths.nodes_ = job->nodes();
  for (const routing::HostIndex host : *host_of)
    paths.node_of_.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(job->hosts, host) - job->hosts.begin()));
  for (std::uint32_t s = 0; s < paths.nodes_; ++s)
    for (std::uint32_t d = 0; d < paths.nodes_; ++d) paths.offsets_.push_back(selection->offset(s, d));
  return paths;
}

} // namespace heddle::job
