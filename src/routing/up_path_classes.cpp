#include "routing/up_path_classes.hpp"

#include <algorithm>
#include <map>

namespace heddle::routing {
namespace {

constexpr UpPath kNoUpPath = UINT32_MAX;

// The up-paths that the job may use: open from all its leaves. `even` turns false where one is open from some leaves only.
std::vector<UpPath> open_up_paths(const Subnet& subnet, const std::vector<SwitchIndex>& leaves,
                                  const std::vector<bool>& allowed, bool& even) {
  std::vector<UpPath> up_paths;
  for (UpPath up_path = 0; up_path < subnet.up_paths.count(); ++up_path) {
    if (!allowed.empty() && !allowed[up_path]) continue;
    const auto open =
        std::ranges::count_if(leaves, [&](SwitchIndex leaf) { return subnet.up_paths.open(leaf, up_path); });
    if (open == std::ssize(leaves)) up_paths.push_back(up_path);
    even = even && (open == 0 || open == std::ssize(leaves));
  }
  return up_paths;
}

// Numbers different values in order of appearance.
template <typename Value>
std::vector<std::uint32_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> numbers;
  std::vector<std::uint32_t> result;
  for (const Value& value : values)
    result.push_back(numbers.try_emplace(value, static_cast<std::uint32_t>(numbers.size())).first->second);
  return result;
}

} // namespace

UpPathClasses::UpPathClasses(const Subnet& subnet, const JobHosts& job, const std::vector<bool>& allowed)
    : leaf_(numbered(job.leaves)), claimed_(subnet.fabric.switches.size()) {
  for (std::size_t node = 0; node < job.leaves.size(); ++node)
    if (leaf_[node] == switches_.size()) switches_.push_back(job.leaves[node]);
  if (subnet.fabric.levels < 2) {
    regular_ = false;
    return;
  }
  const std::vector<UpPath> up_paths = open_up_paths(subnet, switches_, allowed, regular_);
  regular_ = regular_ && !up_paths.empty();
  if (regular_) {
    Standing start{.at = switches_, .combinations = 1};
    for (const UpPath up_path : up_paths) start.up_paths.push_back({up_path, 0});
    add(subnet, start);
  }
  regular_ = regular_ && mirrored(subnet, up_paths);
}

std::vector<std::uint32_t> UpPathClasses::uplinks(const Subnet& subnet, const Standing& standing) {
  std::vector<std::uint32_t> result;
  for (const SwitchIndex here : standing.at) {
    std::vector<Port> ports;
    for (const Traveller& one : standing.up_paths) ports.push_back(subnet.up_paths.up_port(here, one.up_path));
    std::vector<std::uint32_t> seen = numbered(ports);
    if (result.empty())
      result = std::move(seen);
    else if (result != seen)
      regular_ = false;
  }
  return result;
}

std::uint32_t UpPathClasses::add(const Subnet& subnet, const Standing& standing) {
  const auto index = static_cast<std::uint32_t>(places_.size());
  Place place{.unit = numbered(standing.at),
              .weight = standing.keys,
              .up_path_by_key = std::vector<UpPath>(standing.keys, kNoUpPath)};
  place.units = *std::ranges::max_element(place.unit) + 1;
  for (const Traveller& one : standing.up_paths) place.up_path_by_key[one.key] = one.up_path;
  const auto begun = std::ranges::count_if(place.up_path_by_key, [](UpPath up_path) { return up_path != kNoUpPath; });
  if (begun != standing.combinations || !claim(standing.at)) regular_ = false;
  places_.push_back(std::move(place));
  if (!regular_ || subnet.fabric.switches[standing.at.front()].level + 1 == subnet.fabric.levels) return index;

  const std::vector<std::uint32_t> uplink = uplinks(subnet, standing);
  const std::uint32_t count = *std::ranges::max_element(uplink) + 1;
  std::map<std::vector<SwitchIndex>, Standing> above; // the places that the uplinks lead to
  std::vector<const Standing*> leads_to(count);
  for (std::size_t i = 0; i < standing.up_paths.size(); ++i) {
    const Traveller& one = standing.up_paths[i];
    std::vector<SwitchIndex> there;
    for (const SwitchIndex here : standing.at)
      there.push_back(subnet.fabric.switches[here].ports[subnet.up_paths.up_port(here, one.up_path)].index);
    Standing& next = above[there];
    next.at = std::move(there);
    next.keys = standing.keys * count;
    next.up_paths.push_back({one.up_path, one.key + standing.keys * uplink[i]});
    if (leads_to[uplink[i]] == nullptr) next.combinations += begun;
    leads_to[uplink[i]] = &next;
  }
  std::map<const Standing*, std::uint32_t> added;
  for (const Standing* next : leads_to)
    if (!added.contains(next)) added[next] = add(subnet, *next);
  for (const Standing* next : leads_to) places_[index].next.push_back(added.at(next));
  return index;
}

// Two places with one switch would compete for its uplinks.
bool UpPathClasses::claim(const std::vector<SwitchIndex>& at) {
  std::vector<SwitchIndex> switches = at;
  std::ranges::sort(switches);
  const auto repeated = std::ranges::unique(switches);
  switches.erase(repeated.begin(), repeated.end());
  bool fresh = true;
  for (const SwitchIndex one : switches) {
    fresh = fresh && !claimed_[one];
    claimed_[one] = true;
  }
  return fresh;
}

// Every cable up is also the cable down to all hosts below: checked at each switch on the way from each leaf.
bool UpPathClasses::mirrored(const Subnet& subnet, const std::vector<UpPath>& up_paths) const {
  for (const SwitchIndex leaf : switches_) {
    HostIndex host = 0;
    for (const Peer& peer : subnet.fabric.switches[leaf].ports)
      if (peer.kind == Peer::Kind::host) host = peer.index;
    for (const UpPath up_path : up_paths) {
      const auto offset = subnet.lids.offset(host, up_path);
      if (!offset) continue; // nobody can take it to this host
      SwitchIndex at = leaf;
      for (Port up = subnet.up_paths.up_port(at, up_path); up != 0; up = subnet.up_paths.up_port(at, up_path)) {
        const Peer& above = subnet.fabric.switches[at].ports[up];
        if (subnet.tables.port(above.index, subnet.lids.lid(host, *offset)) != above.port) return false;
        at = above.index;
      }
    }
  }
  return true;
}

} // namespace heddle::routing
