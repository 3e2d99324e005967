#include "sim/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/text.hpp"

namespace heddle::sim {
namespace {

constexpr std::uint32_t kMostPorts = 4096;
constexpr std::uint32_t kMostMetres = 1'000'000;
constexpr std::size_t kMostParts = 4096; // switches or nodes: tables grow with their product

// Reads one topology, line by line; `line_` is for messages.
class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  Result<Topology> read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const Halves halves = cut_at(text, '\n');
      if (auto good = read_line(cut_at(halves.before, '#').before); !good) {
        return std::unexpected(std::move(good).error());
      }
      text = halves.after;
    }
    if (topology_.nodes.empty()) return refuse("no node is named");
    if (auto good = check_reached(); !good) return std::unexpected(std::move(good).error());
    return std::move(topology_);
  }

 private:
  std::unexpected<Error> refuse(std::string fact) const {
    std::string where(origin_);
    where += " line " + std::to_string(line_) + ": ";
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = where + std::move(fact)});
  }

  static std::vector<std::string_view> split(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
      const std::size_t start = line.find_first_not_of(" \t\r");
      if (start == std::string_view::npos) return words;
      line.remove_prefix(start);
      const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
      words.push_back(line.substr(0, end));
      line.remove_prefix(end);
    }
  }

  Result<void> read_line(std::string_view line) {
    const std::vector<std::string_view> words = split(line);
    if (words.empty()) return {};
    const bool is_link = words[0] == "link";
    const bool is_node = words[0] == "node";
    if (!is_link && !is_node && words[0] != "switch") {
      return refuse("'" + std::string(words[0]) + "' is unknown: expected switch, node or link");
    }
    const std::size_t fixed = is_link || is_node ? 3 : 2;
    if (words.size() < fixed) {
      return refuse(is_link   ? "a link needs two ends: link SWITCH:PORT SWITCH:PORT"
                    : is_node ? "a node needs a name and an end: node NAME SWITCH:PORT"
                              : "a switch needs a name: switch NAME");
    }
    const std::vector<std::string_view> settings(words.begin() + static_cast<std::ptrdiff_t>(fixed), words.end());
    if (is_link) return read_link(words[1], words[2], settings);
    return is_node ? read_node(words[1], words[2], settings) : read_switch(words[1], settings);
  }

  Result<void> read_switch(std::string_view name, const std::vector<std::string_view>& settings) {
    if (switches_.contains(name)) return refuse("switch " + std::string(name) + " exists already");
    if (topology_.switches.size() == kMostParts) return refuse("more than " + std::to_string(kMostParts) + " switches");
    std::uint32_t ports = kRhinetPorts;
    for (const std::string_view setting : settings) {
      const Halves halves = cut_at(setting, '=');
      if (halves.before != "ports") return unknown(setting, "ports=");
      const auto count = parse_count(halves.after);
      if (!count || *count == 0 || *count > kMostPorts) {
        return refuse("'" + std::string(setting) + "' is out of range: 1 to " + std::to_string(kMostPorts));
      }
      ports = static_cast<std::uint32_t>(*count);
    }
    switches_.emplace(name, static_cast<std::uint32_t>(topology_.switches.size()));
    topology_.switches.emplace_back(name);
    topology_.ports.push_back(ports);
    used_.emplace_back(ports, 0);
    return {};
  }

  Result<void> read_node(std::string_view name, std::string_view end, const std::vector<std::string_view>& settings) {
    if (nodes_.contains(name)) return refuse("node " + std::string(name) + " exists already");
    if (topology_.nodes.size() == kMostParts) return refuse("more than " + std::to_string(kMostParts) + " nodes");
    const auto number = static_cast<std::uint32_t>(topology_.nodes.size());
    nodes_.emplace(name, number);
    topology_.nodes.emplace_back(name);
    node_lines_.push_back(line_);
    auto at = read_end(end);
    if (!at) return std::unexpected(std::move(at).error());
    return add_cable({node_end(number), *at}, settings);
  }

  Result<void> read_link(std::string_view a, std::string_view b, const std::vector<std::string_view>& settings) {
    auto first = read_end(a);
    if (!first) return std::unexpected(std::move(first).error());
    auto second = read_end(b);
    if (!second) return std::unexpected(std::move(second).error());
    return add_cable({*first, *second}, settings);
  }

  Result<void> add_cable(Topology::Cable cable, const std::vector<std::string_view>& settings) {
    for (const std::string_view setting : settings) {
      const Halves halves = cut_at(setting, '=');
      if (halves.before == "metres") {
        const auto metres = parse_count(halves.after);
        if (!metres || *metres > kMostMetres) return refuse("'" + std::string(setting) + "' is not a length in metres");
        cable.metres = static_cast<std::uint32_t>(*metres);
      } else if (halves.before == "rate") {
        const auto rate = parse_rate(halves.after);
        if (!rate) return refuse(rate.error().fact);
        if (rate->bytes_per_second == 0) return refuse("a rate of zero");
        if (static_cast<std::uint64_t>(rate->bytes_per_second) < kLowestRate)
          return refuse("a rate of " + std::to_string(rate->bytes_per_second) + " bytes a second: expected " +
                        std::to_string(kLowestRate) + " or more");
        cable.rate = *rate;
      } else {
        return unknown(setting, "metres= or rate=");
      }
    }
    topology_.cables.push_back(cable);
    return {};
  }

  // SWITCH:PORT, and marks the port as used.
  Result<End> read_end(std::string_view text) {
    const Halves halves = cut_at(text, ':');
    const auto found = switches_.find(halves.before);
    if (found == switches_.end()) return refuse("switch " + std::string(halves.before) + " is not there");
    const std::uint32_t number = found->second;
    const auto port = parse_count(halves.after);
    if (!port || *port >= topology_.ports[number]) {
      return refuse("'" + std::string(text) + "' names no port: switch " + std::string(halves.before) + " has 0 to " +
                    std::to_string(topology_.ports[number] - 1));
    }
    std::size_t& used = used_[number][*port];
    if (used != 0) {
      return refuse("port " + std::string(text) + " is used twice, first on line " + std::to_string(used));
    }
    used = line_;
    return switch_end(number, static_cast<std::uint32_t>(*port));
  }

  // Cables lead from the first node to all others: each cable merges what its two ends belong to.
  Result<void> check_reached() {
    std::vector<std::uint32_t> group_of(topology_.switches.size() + topology_.nodes.size());
    std::iota(group_of.begin(), group_of.end(), 0U);
    const auto find = [&group_of](std::size_t part) {
      while (group_of[part] != part) part = group_of[part] = group_of[group_of[part]];
      return static_cast<std::uint32_t>(part);
    };
    const auto part_of = [this](const End& end) {
      return end.kind == End::Kind::node ? topology_.switches.size() + end.index : std::size_t{end.index};
    };
    for (const Topology::Cable& cable : topology_.cables) group_of[find(part_of(cable.a))] = find(part_of(cable.b));
    for (std::uint32_t node = 1; node < topology_.nodes.size(); ++node) {
      if (find(part_of(node_end(node))) == find(part_of(node_end(0)))) continue;
      line_ = node_lines_[node];
      return refuse("node " + topology_.nodes[node] + " is unreachable: no cables lead to it from node " +
                    topology_.nodes[0] + " of line " + std::to_string(node_lines_[0]));
    }
    return {};
  }

  [[nodiscard]] Result<void> unknown(std::string_view setting, std::string_view expected) const {
    return refuse("'" + std::string(setting) + "' is unknown: expected " + std::string(expected));
  }

  std::string_view origin_;
  std::size_t line_ = 0;
  Topology topology_;
  std::map<std::string_view, std::uint32_t> switches_;
  std::map<std::string_view, std::uint32_t> nodes_;
  std::vector<std::size_t> node_lines_;        // by node
  std::vector<std::vector<std::size_t>> used_; // [switch][port] -> line, 0 = free
};

} // namespace

Result<Topology> parse_topology(std::string_view text, std::string_view origin) {
  return Reader(origin).read(text);
}

Topology star(std::uint32_t nodes, std::uint32_t ports) {
  Topology topology;
  const auto add_switch = [&] {
    topology.switches.push_back(std::to_string(topology.switches.size()));
    topology.ports.push_back(ports);
  };
  add_switch();
  std::vector<End> places; // breadth first: the next free port of the oldest switch with one
  for (std::uint32_t port = 0; port < ports; ++port) places.push_back(switch_end(0, port));
  std::size_t next = 0;
  // Each further switch takes one place and gives ports - 1.
  while (places.size() - next < nodes) {
    const auto added = static_cast<std::uint32_t>(topology.switches.size());
    add_switch();
    topology.cables.push_back({places[next++], switch_end(added, 0), kNone, {}});
    for (std::uint32_t port = 1; port < ports; ++port) places.push_back(switch_end(added, port));
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    topology.nodes.push_back(std::to_string(node));
    topology.cables.push_back({node_end(node), places[next++], kNone, {}});
  }
  return topology;
}

Topology ring(std::uint32_t nodes, std::uint32_t ports) {
  Topology topology;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    topology.nodes.push_back(std::to_string(node));
    topology.switches.push_back(std::to_string(node));
    topology.ports.push_back(ports);
    topology.cables.push_back({node_end(node), switch_end(node, 0), kNone, {}});
    if (nodes > 1) topology.cables.push_back({switch_end(node, 1), switch_end((node + 1) % nodes, 2), kNone, {}});
  }
  return topology;
}

Topology torus(std::uint32_t columns, std::uint32_t rows, std::uint32_t ports) {
  Topology topology;
  const auto at = [columns](std::uint32_t column, std::uint32_t row) { return row * columns + column; };
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t column = 0; column < columns; ++column) {
      const std::uint32_t here = at(column, row);
      topology.nodes.push_back(std::to_string(here));
      topology.switches.push_back(std::to_string(here));
      topology.ports.push_back(ports);
      topology.cables.push_back({node_end(here), switch_end(here, 0), kNone, {}});
      if (columns > 1)
        topology.cables.push_back({switch_end(here, 1), switch_end(at((column + 1) % columns, row), 2), kNone, {}});
      if (rows > 1)
        topology.cables.push_back({switch_end(here, 3), switch_end(at(column, (row + 1) % rows), 4), kNone, {}});
    }
  return topology;
}

} // namespace heddle::sim
