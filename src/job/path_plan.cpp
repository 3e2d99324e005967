#include "job/path_plan.hpp"

#include "routing/methods.hpp"
#include "routing/subnet_text.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace heddle::job {

namespace {

Error wrong(const std::string& option, std::string fact, std::string remedy) {
  return {
      .code = ErrorCode::bad_option, .fact = "option " + option + ": " + std::move(fact), .remedy = std::move(remedy)};
}

Error of_option(const std::string& option, const Error& error) {
  return wrong(option, error.fact, error.remedy);
}

// The LIDs are those that processes have published; a topology that says others is of another subnet.
Result<routing::Subnet> open_subnet(const std::string& topology, std::uint32_t lmc) {
  auto text = routing::parse_subnet(topology);
  if (!text) return std::unexpected(text.error());
  text->every_lid = false;
  return routing::open_subnet(*text, lmc);
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

std::string_view short_name(std::string_view name) {
  return name.substr(0, name.find_first_of(". \t"));
}

} // namespace

Result<std::vector<routing::Location>> locate_by_name(const std::string& topology, std::span<const std::string> nodes) {
  const auto text = routing::parse_subnet(topology);
  if (!text) return std::unexpected(of_option("topology", text.error()));
  const auto subnet = routing::open_subnet(*text);
  if (!subnet) return std::unexpected(of_option("topology", subnet.error()));
  std::unordered_map<std::string_view, routing::HostIndex>
      by_name; // the first of a name: a node may have several ports
  for (routing::HostIndex host = 0; host < subnet->fabric.hosts.size(); ++host)
    if (subnet->fabric.hosts[host].present) by_name.try_emplace(subnet->fabric.hosts[host].name, host);
  for (routing::HostIndex host = 0; host < subnet->fabric.hosts.size(); ++host)
    if (subnet->fabric.hosts[host].present) by_name.try_emplace(short_name(subnet->fabric.hosts[host].name), host);
  std::vector<routing::Location> locations;
  for (const std::string& node : nodes) {
    auto found = by_name.find(node);
    if (found == by_name.end()) found = by_name.find(short_name(node));
    if (found == by_name.end())
      return std::unexpected(Error{.code = ErrorCode::unreachable,
                                   .fact = "rank " + std::to_string(locations.size()) + " is on node '" + node +
                                           "', and no host of " + topology + " is called so"});
    locations.push_back({.base_lid = subnet->lids.lid(found->second, 0), .lmc = subnet->lids.lmc});
  }
  return locations;
}

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
