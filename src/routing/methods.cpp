#include "routing/methods.hpp"

#include <algorithm>
#include <map>

#include "base/nearest.hpp"
#include "base/options.hpp"
#include "base/refusal.hpp"

namespace heddle::routing {
namespace {

// Both fixed methods with their K: an offset for each destination, whatever the source.
Selection select_conventional(const Subnet& subnet, const JobHosts& job) {
  Selection selection(job.nodes());
  for (std::uint32_t d = 0; d < job.nodes(); ++d) {
    const HostIndex host = job.hosts[d];
    const std::uint32_t offset = subnet.lids.offset(host, host % subnet.lids.up_paths).value_or(0);
    for (std::uint32_t s = 0; s < job.nodes(); ++s)
      if (!job.same_leaf(s, d)) selection.set(s, d, offset);
  }
  return selection;
}

Selection from_table(const Subnet& subnet, const JobHosts& job, const std::vector<UpPath>& table) {
  Selection selection(job.nodes());
  for (std::uint32_t s = 0; s < job.nodes(); ++s)
    for (std::uint32_t d = 0; d < job.nodes(); ++d)
      if (!job.same_leaf(s, d))
        selection.set(s, d, subnet.lids.offset(job.hosts[d], table[std::size_t{s} * job.nodes() + d]).value_or(0));
  return selection;
}

Result<void> check_applies(const Subnet& subnet, Method method) {
  const std::string name(to_string(method));
  if (subnet.fabric.levels != 2)
    return refuse(
        "method " + name + " is defined for trees of two levels, this one has " + std::to_string(subnet.fabric.levels),
        "use colouring or conventional");
  if (!subnet.lids.complete())
    return refuse("method " + name + " needs a LID for every up-path, but " + subnet.lids.limit,
                  "use colouring or conventional");
  return {};
}

} // namespace

static_assert(kMethods.size() == base::kPathMethods.size());

std::string_view to_string(Method method) {
  return base::kPathMethods[static_cast<std::size_t>(method)];
}

Result<Method> parse_method(std::string_view text) {
  const auto& names = base::kPathMethods;
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return kMethods[static_cast<std::size_t>(found - names.begin())];
  return refuse("no method is called '" + std::string(text.substr(0, 80)) + "', did you mean " +
                    std::string(base::nearest(text, names)) + "?",
                "expected conventional, node, pair or colouring");
}

Result<Selection> select(const Subnet& subnet, const JobHosts& job, Method method, const Pattern& pattern) {
  if (method == Method::node || method == Method::pair)
    if (auto applies = check_applies(subnet, method); !applies) return std::unexpected(applies.error());
  switch (method) {
    case Method::conventional: return select_conventional(subnet, job);
    case Method::node: return from_table(subnet, job, node_table(job.leaves, subnet.lids.up_paths));
    case Method::pair: return from_table(subnet, job, pair_table(job.leaves, subnet.lids.up_paths));
    case Method::colouring: return select_colouring(subnet, job, pattern);
  }
  return Selection(0);
}

// With Nln the most nodes of the job on one leaf: M = Nln where it divides the number of nodes, else K; destination l goes
// through root l mod M.
std::vector<UpPath> node_table(std::span<const SwitchIndex> leaves, std::uint32_t k) {
  const std::size_t n = leaves.size();
  std::map<SwitchIndex, std::size_t> on_leaf;
  std::size_t most = 1;
  for (const SwitchIndex leaf : leaves) most = std::max(most, ++on_leaf[leaf]);
  const std::size_t m = n % most == 0 && most <= k ? most : k;
  std::vector<UpPath> table(n * n);
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t d = 0; d < n; ++d) table[s * n + d] = static_cast<UpPath>(d % m);
  return table;
}

} // namespace heddle::routing
