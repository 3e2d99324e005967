#include "routing/several_jobs.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "routing/up_path_classes.hpp"

namespace heddle::routing {
namespace {

// All jobs as one: its nodes, and for each job the local nodes that its own become.
struct Union {
  JobHosts job;
  std::vector<std::vector<std::uint32_t>> node; // [job][local node of that job]
};

Union unite(const Subnet& subnet, const std::vector<JobHosts>& jobs) {
  Union all;
  for (const JobHosts& job : jobs) all.job.hosts.insert(all.job.hosts.end(), job.hosts.begin(), job.hosts.end());
  std::ranges::sort(all.job.hosts);
  for (const HostIndex host : all.job.hosts) all.job.leaves.push_back(subnet.fabric.hosts[host].leaf);
  for (const JobHosts& job : jobs) {
    auto& nodes = all.node.emplace_back();
    for (const HostIndex host : job.hosts)
      nodes.push_back(
          static_cast<std::uint32_t>(std::ranges::lower_bound(all.job.hosts, host) - all.job.hosts.begin()));
  }
  return all;
}

Pattern shifts_in_step(const std::vector<JobHosts>& jobs, const Union& all) {
  std::size_t most = 0;
  for (const JobHosts& job : jobs) most = std::max(most, Pattern::shift(job.nodes()).stages());
  std::vector<Stage> stages(most);
  Stage own;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Pattern shift = Pattern::shift(jobs[j].nodes());
    for (std::size_t i = 0; i < shift.stages(); ++i) {
      shift.fill(i, own);
      for (const Flow& flow : own) stages[i].push_back({all.node[j][flow.from], all.node[j][flow.to]});
    }
  }
  return Pattern::of("shifts in step", all.job.nodes(), std::move(stages));
}

std::uint32_t most_on_a_leaf(const JobHosts& job) {
  std::map<SwitchIndex, std::uint32_t> count;
  std::uint32_t most = 0;
  for (const SwitchIndex leaf : job.leaves) most = std::max(most, ++count[leaf]);
  return most;
}

bool share_a_leaf(const JobHosts& one, const JobHosts& other) {
  const std::set<SwitchIndex> leaves(one.leaves.begin(), one.leaves.end());
  return std::ranges::any_of(other.leaves, [&](SwitchIndex leaf) { return leaves.contains(leaf); });
}

// As many up-paths for each job as it has nodes on one leaf, different ones for jobs that share a leaf; the largest job first.
std::optional<std::vector<std::vector<bool>>> share_out_up_paths(const std::vector<JobHosts>& jobs,
                                                                 std::uint32_t up_paths) {
  std::vector<std::vector<bool>> shares(jobs.size(), std::vector<bool>(up_paths));
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t j) { return most_on_a_leaf(jobs[j]); });
  for (std::size_t position = 0; position < order.size(); ++position) {
    const JobHosts& job = jobs[order[position]];
    std::vector<bool> taken(up_paths);
    for (std::size_t before = 0; before < position; ++before)
      if (share_a_leaf(job, jobs[order[before]]))
        for (UpPath up_path = 0; up_path < up_paths; ++up_path)
          taken[up_path] = taken[up_path] || shares[order[before]][up_path];
    std::uint32_t wanted = most_on_a_leaf(job);
    for (UpPath up_path = 0; up_path < up_paths && wanted > 0; ++up_path) {
      if (taken[up_path]) continue;
      shares[order[position]][up_path] = true;
      --wanted;
    }
    if (wanted > 0) return {};
  }
  return shares;
}

Selection part_of(const Selection& whole, const std::vector<std::uint32_t>& nodes) {
  Selection part(static_cast<std::uint32_t>(nodes.size()));
  for (std::uint32_t s = 0; s < nodes.size(); ++s)
    for (std::uint32_t d = 0; d < nodes.size(); ++d) part.set(s, d, whole.offset(nodes[s], nodes[d]));
  return part;
}

Selection whole_of(const std::vector<Selection>& parts, const Union& all) {
  Selection whole(all.job.nodes());
  for (std::size_t j = 0; j < parts.size(); ++j)
    for (std::uint32_t s = 0; s < parts[j].nodes(); ++s)
      for (std::uint32_t d = 0; d < parts[j].nodes(); ++d)
        whole.set(all.node[j][s], all.node[j][d], parts[j].offset(s, d));
  return whole;
}

} // namespace

Result<void> check_disjoint(const std::vector<JobHosts>& jobs) {
  std::map<HostIndex, std::size_t> owner;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    for (const HostIndex host : jobs[j].hosts) {
      const auto [entry, fresh] = owner.try_emplace(host, j);
      if (!fresh)
        return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                     .fact = "node " + std::to_string(host) + " is in job " +
                                             std::to_string(entry->second + 1) + " and in job " +
                                             std::to_string(j + 1)});
    }
  return {};
}

Result<JobsPlan> plan_alone(const Subnet& subnet, const std::vector<JobHosts>& jobs, Method method) {
  JobsPlan plan;
  for (const JobHosts& job : jobs) {
    auto selection = select(subnet, job, method, Pattern::shift(job.nodes()));
    if (!selection) return std::unexpected(std::move(selection).error());
    plan.selections.push_back(std::move(*selection));
  }
  return plan;
}

JobsPlan plan_together(const Subnet& subnet, const std::vector<JobHosts>& jobs) {
  JobsPlan plan;
  const Union all = unite(subnet, jobs);
  const bool simple =
      subnet.fabric.levels == 2 && subnet.lids.complete() && UpPathClasses(subnet, all.job, {}).regular();
  std::vector<UpPath> open; // a failed root is no up-path to share out
  for (UpPath up_path = 0; simple && up_path < subnet.up_paths.count(); ++up_path)
    if (subnet.up_paths.open(all.job.leaves.front(), up_path)) open.push_back(up_path);
  const auto shares = simple ? share_out_up_paths(jobs, static_cast<std::uint32_t>(open.size())) : std::nullopt;
  if (shares) {
    plan.separate = true;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      std::vector<bool> allowed(subnet.up_paths.count());
      for (std::size_t i = 0; i < open.size(); ++i) allowed[open[i]] = (*shares)[j][i];
      plan.selections.push_back(select_colouring(subnet, jobs[j], Pattern::shift(jobs[j].nodes()), allowed));
    }
    return plan;
  }
  const Selection whole = select_colouring(subnet, all.job, shifts_in_step(jobs, all));
  for (const auto& nodes : all.node) plan.selections.push_back(part_of(whole, nodes));
  return plan;
}

Result<JobsLoad> load_of_jobs(const Subnet& subnet, const std::vector<JobHosts>& jobs, const JobsPlan& plan) {
  const Union all = unite(subnet, jobs);
  const auto together = check_load(subnet, all.job, whole_of(plan.selections, all), shifts_in_step(jobs, all));
  if (!together) return std::unexpected(together.error());
  std::vector<std::uint32_t> sum;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto own = largest_by_link(subnet, jobs[j], plan.selections[j], Pattern::shift(jobs[j].nodes()));
    if (!own) return std::unexpected(own.error());
    sum.resize(own->size());
    for (std::size_t link = 0; link < sum.size(); ++link) sum[link] += (*own)[link];
  }
  return JobsLoad{.in_step = together->overall(), .any_step = sum.empty() ? 0 : *std::ranges::max_element(sum)};
}

} // namespace heddle::routing
