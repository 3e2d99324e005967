#include "routing/tree.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/nearest.hpp"

namespace heddle::routing {
namespace {

constexpr std::uint32_t kMostLevels = 16;
constexpr std::uint32_t kMostHosts = 49'151;           // no more than there are unicast LIDs
constexpr std::uint64_t kHostGuid = 0x2c90000000010;   // host i: + 16 i, its port one more
constexpr std::uint64_t kSwitchGuid = 0x2c90100000001; // switch i: + i

Error wrong(std::string_view text, std::string why) {
  return {.code = ErrorCode::bad_argument,
          .fact = "tree '" + std::string(text.substr(0, 100)) + "': " + std::move(why),
          .remedy = "expected K-ary-N-tree[:NODES][,hosts=H][,uplinks=U][,links=P], such as 6-ary-2-tree:30"};
}

// Cuts a number off the front; nullopt where there is none or it is past 32 bits.
std::optional<std::uint32_t> cut_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool cut_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

Result<void> read_parameter(TreeShape& shape, std::string_view parameter, std::string_view whole) {
  constexpr std::string_view kNames[] = {"hosts", "uplinks", "links"};
  const std::size_t equals = parameter.find('=');
  const std::string_view name = parameter.substr(0, equals);
  std::uint32_t* const values[] = {&shape.hosts_per_leaf, &shape.uplinks, &shape.links};
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames))
    return std::unexpected(wrong(whole, "no parameter is called '" + std::string(name) + "', did you mean " +
                                            std::string(base::nearest(name, kNames)) + "?"));
  std::string_view rest = equals == std::string_view::npos ? "" : parameter.substr(equals + 1);
  const auto value = cut_number(rest);
  if (!value || !rest.empty() || *value == 0 || *value > kLargestPort)
    return std::unexpected(
        wrong(whole, std::string(name) + " needs a number from 1 to " + std::to_string(kLargestPort)));
  *values[found - std::begin(kNames)] = *value;
  return {};
}

Result<void> check(const TreeShape& shape, std::string_view text) {
  if (shape.k == 0 || shape.k > kLargestPort / 2)
    return std::unexpected(wrong(text, "K must be from 1 to " + std::to_string(kLargestPort / 2) +
                                           ", since a switch has at most " + std::to_string(kLargestPort) + " ports"));
  if (shape.levels < 1 || shape.levels > kMostLevels)
    return std::unexpected(wrong(text, "N must be from 1 to " + std::to_string(kMostLevels)));
  if (shape.levels == 1 && shape.uplinks > 0) return std::unexpected(wrong(text, "a single switch has no uplinks"));
  const std::uint32_t others = 2 * shape.k * shape.links; // down only, or half down and half up
  if (shape.hosts_per_leaf + shape.uplinks > kLargestPort || others > kLargestPort)
    return std::unexpected(wrong(text, "a switch would need more than " + std::to_string(kLargestPort) + " ports"));
  if (shape.levels > 1 && shape.uplinks % shape.links != 0)
    return std::unexpected(wrong(text, "links=" + std::to_string(shape.links) + " does not divide the " +
                                           std::to_string(shape.uplinks) + " uplinks of a leaf"));
  return {};
}

// What the levels look like: children and parents of a switch, cables to one parent, and how many switches there are.
struct Level {
  std::uint32_t children = 0; // hosts for a leaf
  std::uint32_t parents = 0;
  std::uint32_t cables = 1; // to each parent
  std::uint32_t cables_down = 1;
  std::uint32_t groups = 0; // subtrees of this height
  std::uint32_t planes = 1; // switches of this level in one subtree
  SwitchIndex first = 0;

  [[nodiscard]] std::uint32_t up_port(std::uint32_t parent, std::uint32_t cable) const {
    return children * cables_down + 1 + parent * cables + cable;
  }
};

std::vector<Level> levels_of(const TreeShape& shape) {
  std::vector<Level> levels(shape.levels);
  std::uint32_t groups = (shape.nodes + shape.hosts_per_leaf - 1) / shape.hosts_per_leaf;
  SwitchIndex first = 0;
  for (std::uint32_t l = 0; l < shape.levels; ++l) {
    Level& level = levels[l];
    const bool top = l + 1 == shape.levels;
    level.children = l == 0 ? shape.hosts_per_leaf : top ? 2 * shape.k : shape.k;
    level.parents = top ? 0 : l == 0 ? shape.uplinks / shape.links : shape.k;
    level.cables = shape.links;
    if (l > 0) {
      level.cables_down = levels[l - 1].cables;
      level.planes = levels[l - 1].planes * levels[l - 1].parents;
      groups = (groups + level.children - 1) / level.children;
    }
    level.groups = groups;
    level.first = first;
    first += level.groups * level.planes;
  }
  return levels;
}

// Far too many roots are not counted further: numbers stay within bounds.
std::uint64_t switches_of(const TreeShape& shape) {
  std::uint64_t roots = 1;
  for (std::uint32_t l = 0; l + 1 < shape.levels; ++l) {
    roots *= l == 0 ? shape.uplinks / shape.links : shape.k;
    if (roots > 1U << 24U) return roots;
  }
  std::uint64_t count = 0;
  for (const Level& level : levels_of(shape)) count += std::uint64_t{level.groups} * level.planes;
  return count;
}

std::string name_of(std::uint32_t level, std::uint32_t levels, std::uint32_t index, std::uint32_t first_middle) {
  if (level == 0) return "leaf" + std::to_string(index);
  if (level + 1 == levels) return "root" + std::to_string(index);
  return "middle" + std::to_string(first_middle + index);
}

void add_switches(Fabric& fabric, const std::vector<Level>& levels) {
  for (std::uint32_t l = 0; l < levels.size(); ++l) {
    const Level& level = levels[l];
    for (std::uint32_t i = 0; i < level.groups * level.planes; ++i)
      fabric.switches.push_back({.name = name_of(l, fabric.levels, i, l == 0 ? 0 : level.first - levels[1].first),
                                 .guid = kSwitchGuid + fabric.switches.size(),
                                 .level = l,
                                 .present = true,
                                 .ports = std::vector<Peer>(std::size_t{level.children} * level.cables_down + 1 +
                                                            std::size_t{level.parents} * level.cables)});
  }
}

// The switch of subtree g and plane p at level l is linked to the planes p + planes * j of the subtree around it.
void add_cables(Fabric& fabric, const std::vector<Level>& levels) {
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    const Level& low = levels[l];
    const Level& high = levels[l + 1];
    for (std::uint32_t i = 0; i < low.groups * low.planes; ++i) {
      const std::uint32_t group = i / low.planes;
      const std::uint32_t plane = i % low.planes;
      for (std::uint32_t j = 0; j < low.parents; ++j) {
        const SwitchIndex parent = high.first + group / high.children * high.planes + plane + low.planes * j;
        for (std::uint32_t cable = 0; cable < low.cables; ++cable)
          connect(fabric, low.first + i, static_cast<Port>(low.up_port(j, cable)), parent,
                  static_cast<Port>(1 + group % high.children * low.cables + cable));
      }
    }
  }
}

} // namespace

std::uint64_t TreeShape::largest() const {
  if (levels == 1) return hosts_per_leaf;
  std::uint64_t hosts = 2ULL * k * hosts_per_leaf;
  for (std::uint32_t l = 2; l < levels && hosts <= UINT32_MAX; ++l) hosts *= k; // past that it is just too many
  return hosts;
}

Result<TreeShape> parse_tree(std::string_view text) {
  TreeShape shape;
  std::string_view rest = text;
  const auto k = cut_number(rest);
  if (!k || !cut_word(rest, "-ary-")) return std::unexpected(wrong(text, "it does not begin with K-ary-"));
  const auto levels = cut_number(rest);
  if (!levels || !cut_word(rest, "-tree")) return std::unexpected(wrong(text, "N-tree does not follow K-ary-"));
  shape.k = shape.hosts_per_leaf = shape.uplinks = *k;
  shape.levels = *levels;
  if (shape.levels == 1) {
    shape.hosts_per_leaf = 2 * shape.k;
    shape.uplinks = 0;
  }
  std::optional<std::uint32_t> nodes;
  if (cut_word(rest, ":")) {
    nodes = cut_number(rest);
    if (!nodes || *nodes == 0) return std::unexpected(wrong(text, "NODES must be a number from 1"));
  }
  while (cut_word(rest, ",")) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (auto read = read_parameter(shape, rest.substr(0, end), text); !read) return std::unexpected(read.error());
    rest.remove_prefix(end);
  }
  if (!rest.empty()) return std::unexpected(wrong(text, "'" + std::string(rest.substr(0, 40)) + "' is left over"));
  if (auto checked = check(shape, text); !checked) return std::unexpected(checked.error());
  if (nodes && *nodes > shape.largest())
    return std::unexpected(wrong(text, "such a tree has at most " + std::to_string(shape.largest()) + " hosts"));
  const std::uint64_t wanted = nodes ? *nodes : shape.largest();
  if (wanted > kMostHosts)
    return std::unexpected(wrong(
        text, std::to_string(wanted) + " hosts, but a subnet has " + std::to_string(kMostHosts) + " unicast LIDs"));
  shape.nodes = static_cast<std::uint32_t>(wanted);
  if (const std::uint64_t switches = switches_of(shape); switches > kMostHosts)
    return std::unexpected(wrong(text, std::to_string(switches) + " switches, but a subnet has " +
                                           std::to_string(kMostHosts) + " unicast LIDs"));
  return shape;
}

std::string to_text(const TreeShape& shape) {
  std::string text = std::to_string(shape.k) + "-ary-" + std::to_string(shape.levels) + "-tree";
  if (shape.nodes != shape.largest()) text += ":" + std::to_string(shape.nodes);
  if (shape.hosts_per_leaf != (shape.levels == 1 ? 2 : 1) * shape.k)
    text += ",hosts=" + std::to_string(shape.hosts_per_leaf);
  if (shape.uplinks != (shape.levels == 1 ? 0 : shape.k)) text += ",uplinks=" + std::to_string(shape.uplinks);
  if (shape.links != 1) text += ",links=" + std::to_string(shape.links);
  return text;
}

Fabric build_tree(const TreeShape& shape) {
  Fabric fabric;
  fabric.levels = shape.levels;
  const std::vector<Level> levels = levels_of(shape);
  add_switches(fabric, levels);
  for (HostIndex host = 0; host < shape.nodes; ++host) {
    const std::uint64_t guid = kHostGuid + 16ULL * host;
    fabric.hosts.push_back({.name = "host" + std::to_string(host), .guid = guid, .port_guid = guid + 1});
    connect_host(fabric, host, host / shape.hosts_per_leaf, static_cast<Port>(1 + host % shape.hosts_per_leaf));
  }
  add_cables(fabric, levels);
  return fabric;
}

} // namespace heddle::routing
