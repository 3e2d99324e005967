#include "base/clock.hpp"
#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "launch/hosts.hpp"
#include "launch/slurm.hpp"
#include "paths.hpp"
#include "routing/job_hosts.hpp"
#include "store/pmix.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

namespace heddle::tool {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kHostFile = "hostfile:";
constexpr std::chrono::seconds kPmixLimit{30};

Result<Names> names_of(const Result<std::vector<launch::Host>>& hosts) {
  if (!hosts) return std::unexpected(hosts.error());
  Names names;
  for (const launch::Host& host : *hosts) names.push_back(host.name);
  return names;
}

Result<Names> names_by_pmix() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr)
    return refuse("--nodes pmix: this process was not started by a launcher that speaks PMIx",
                  "start it once on each node of the job: mpirun --map-by ppr:1:node heddle paths plan ...");
  const auto board = store::Pmix::open(base::deadline_in(kPmixLimit));
  if (!board) return std::unexpected(board.error());
  const auto list = (*board)->nodes();
  // Nobody leaves before all have come: mpirun forgets those that are still being let in when another leaves.
  static_cast<void>((*board)->fence(base::deadline_in(kPmixLimit)));
  (*board)->leave(base::deadline_in(kPmixLimit));
  if (!list) return std::unexpected(list.error());
  return launch::expand_node_list(*list);
}

// Where they are written; numbers are none.
Result<Names> read_names(const std::string& nodes) {
  if (nodes.starts_with(kHostFile)) return names_of(launch::read_host_file(nodes.substr(kHostFile.size())));
  if (nodes == "pmix") return names_by_pmix();
  if (nodes == "slurm") {
    const auto hosts = launch::slurm_allocation(base::Environment::of_process());
    if (!hosts)
      return refuse("--nodes slurm: this process is in no allocation (SLURM_JOB_ID, SLURM_JOB_NODELIST)",
                    "use it in a batch script or under salloc");
    return names_of(*hosts);
  }
  Names names = launch::expand_node_list(nodes);
  if (names.empty())
    return refuse("--nodes '" + nodes.substr(0, 80) + "' is no list of nodes",
                  "expected 0-5,9 or n1,n[4-7] or hostfile:FILE or slurm or pmix");
  return names;
}

std::string_view node_of(std::string_view host) {
  return host.substr(0, host.find_first_of(". \t:"));
}

std::string_view adapter_of(std::string_view host) {
  const std::size_t blank = host.find_first_of(" \t");
  return blank == std::string_view::npos ? std::string_view{} : host.substr(host.find_first_not_of(" \t", blank));
}

Error unknown_node(const routing::Fabric& fabric, const std::string& name) {
  std::vector<std::string_view> known;
  for (const routing::Host& host : fabric.hosts) known.push_back(node_of(host.name));
  return bad_argument("no host of the topology is called '" + name.substr(0, 80) + "'",
                      "did you mean " + std::string(base::nearest(name, known)) + "?");
}

// The one host that is meant.
Result<routing::HostIndex> choose(const routing::Fabric& fabric, const std::string& name,
                                  const std::vector<routing::HostIndex>& hosts, const std::string& adapter) {
  std::string choices;
  std::vector<routing::HostIndex> fitting;
  for (const routing::HostIndex host : hosts) {
    const std::string_view of_host = adapter_of(fabric.hosts[host].name);
    choices += (choices.empty() ? "" : ", ") + std::string(of_host);
    if (adapter.empty() || adapter == of_host) fitting.push_back(host);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty())
    return refuse("node '" + name + "' has no adapter '" + adapter.substr(0, 80) + "'", "it has: " + choices);
  return refuse("node '" + name + "' has " + std::to_string(fitting.size()) + " ports on the topology: " + choices,
                "say by --adapter which of them the job uses");
}

} // namespace

Result<std::vector<routing::HostIndex>> find_nodes(const routing::Fabric& fabric, const NodeSource& source) {
  if (source.nodes.find_first_not_of("0123456789,-") == std::string::npos)
    return routing::parse_node_list(source.nodes);
  const auto names = read_names(source.nodes);
  if (!names) return std::unexpected(names.error());
  std::unordered_map<std::string_view, std::vector<routing::HostIndex>> by_name;
  for (routing::HostIndex host = 0; host < fabric.hosts.size(); ++host)
    by_name[node_of(fabric.hosts[host].name)].push_back(host);
  std::vector<routing::HostIndex> hosts;
  for (const std::string& name : *names) {
    const auto found = by_name.find(node_of(name));
    if (found == by_name.end()) return std::unexpected(unknown_node(fabric, name));
    const auto host = choose(fabric, name, found->second, source.adapter);
    if (!host) return std::unexpected(host.error());
    // A file of hosts may name one several times, for several processes.
    if (std::ranges::find(hosts, *host) == hosts.end()) hosts.push_back(*host);
  }
  return hosts;
}

Result<bool> leaves_it_to_another(const NodeSource& source) {
  const char* rank = std::getenv("PMIX_RANK");
  if (source.nodes != "pmix" || rank == nullptr || std::string_view(rank) == "0") return false;
  // mpirun ends a job in which some have joined and others end without.
  const auto board = store::Pmix::open(base::deadline_in(kPmixLimit));
  if (!board) return std::unexpected(board.error());
  (*board)->leave(base::deadline_in(kPmixLimit));
  return true;
}

} // namespace heddle::tool
