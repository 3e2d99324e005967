#include "routing/ibnetdiscover.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace heddle::routing {
namespace {

// Of a host's port, where it has some.
struct Lids {
  std::uint16_t base = 0;
  std::uint8_t lmc = 0;
};

struct Cable {
  std::size_t line = 0;
  std::uint32_t port = 0;
  std::uint64_t port_guid = 0; // of the near end; hosts only
  std::optional<Lids> lids;    // the same
  std::string_view far_id;
  std::uint32_t far_port = 0;
};

struct Node {
  std::size_t line = 0;
  bool is_switch = false;
  std::uint32_t ports = 0;
  std::uint64_t guid = 0;
  std::string_view id;
  std::string_view description;
  std::vector<Cable> cables;
};

Error wrong(std::size_t line, std::string why) {
  return {.code = ErrorCode::bad_argument, .fact = "line " + std::to_string(line) + ": " + std::move(why)};
}

// Reads one line from the left. Every member leaves the text alone where it returns nothing.
class Reader {
 public:
  explicit Reader(std::string_view line) : rest_(line) {}

  bool word(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size())); }

  template <typename Number>
  std::optional<Number> number(int base) {
    Number value = 0;
    const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (status != std::errc{}) return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::optional<std::string_view> quoted() {
    if (!rest_.starts_with('"')) return {};
    const std::size_t close = rest_.find('"', 1);
    if (close == std::string_view::npos) return {};
    const std::string_view text = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    return text;
  }

  // "[7]", also "[7][ext 3]" as modular switches print
  std::optional<std::uint32_t> port() {
    if (!word("[")) return {};
    const auto value = number<std::uint32_t>(10);
    if (!value || !word("]")) return {};
    if (word("[ext ") && (!number<std::uint32_t>(10) || !word("]"))) return {};
    return value;
  }

  std::optional<std::uint64_t> guid_in_parentheses() {
    if (!word("(")) return {};
    const auto value = number<std::uint64_t>(16);
    if (!value || !word(")")) return {};
    return value;
  }

  // What follows a '#' may say anything; the first quoted text in it is a description.
  std::string_view description() {
    const std::size_t hash = rest_.find('#');
    if (hash == std::string_view::npos) return {};
    const std::size_t quote = rest_.find('"', hash);
    if (quote == std::string_view::npos) return {};
    rest_.remove_prefix(quote);
    return quoted().value_or("");
  }

  // "# lid 8 lmc 3 ...", as stands behind the port of a host; another comment is none.
  std::optional<Lids> lids() {
    blanks();
    if (!word("#")) return {};
    blanks();
    if (!word("lid ")) return {};
    const auto base = number<std::uint16_t>(10);
    blanks();
    if (!base || *base == 0 || !word("lmc ")) return {};
    const auto lmc = number<std::uint8_t>(10);
    if (!lmc) return {};
    return Lids{*base, *lmc};
  }

  [[nodiscard]] bool finished() {
    blanks();
    return rest_.empty() || rest_.starts_with('#');
  }

 private:
  std::string_view rest_;
};

class Parser {
 public:
  Result<std::vector<Node>> run(std::string_view text) {
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (auto read = read_line(line); !read) return std::unexpected(std::move(read).error());
    }
    return std::move(nodes_);
  }

 private:
  Result<void> read_line(std::string_view line) {
    Reader reader(line);
    reader.blanks();
    if (reader.finished()) return {};
    if (line.starts_with('[')) return read_cable(line);
    for (const std::string_view ignored : {"vendid=", "devid=", "sysimgguid="})
      if (line.starts_with(ignored)) return {};
    for (const std::string_view owner : {"switchguid=0x", "caguid=0x"})
      if (reader.word(owner)) {
        guid_ = reader.number<std::uint64_t>(16);
        if (!guid_)
          return std::unexpected(wrong(line_, "a GUID in hexadecimal digits is expected after " + std::string(owner)));
        return {};
      }
    if (line.starts_with("Switch") || line.starts_with("Ca")) return read_node(line);
    return std::unexpected(wrong(line_, "'" + std::string(line.substr(0, 40)) +
                                            "' is not a line that ibnetdiscover prints for switches and hosts"));
  }

  Result<void> read_node(std::string_view line) {
    Reader reader(line);
    Node node{.line = line_, .is_switch = reader.word("Switch")};
    if (!node.is_switch) reader.word("Ca");
    reader.blanks();
    const auto ports = reader.number<std::uint32_t>(10);
    reader.blanks();
    const auto id = reader.quoted();
    if (!ports || !id || id->empty() || !reader.finished())
      return std::unexpected(wrong(line_, "expected a number of ports and an id in quotes"));
    if (*ports == 0 || *ports > kLargestPort)
      return std::unexpected(
          wrong(line_, std::to_string(*ports) + " ports: expected 1 to " + std::to_string(kLargestPort)));
    if (!guid_)
      return std::unexpected(wrong(line_, "no line with the GUID of '" + std::string(*id) + "' comes before it"));
    node.ports = *ports;
    node.id = *id;
    node.guid = *guid_;
    node.description = reader.description();
    guid_.reset();
    nodes_.push_back(std::move(node));
    return {};
  }

  Result<void> read_cable(std::string_view line) {
    if (nodes_.empty()) return std::unexpected(wrong(line_, "a port comes before any switch or host"));
    Node& node = nodes_.back();
    Reader reader(line);
    Cable cable{.line = line_};
    const auto port = reader.port();
    cable.port_guid = reader.guid_in_parentheses().value_or(0);
    reader.blanks();
    const auto far = reader.quoted();
    const auto far_port = far ? reader.port() : std::optional<std::uint32_t>{};
    reader.guid_in_parentheses();
    if (!port || !far_port || !reader.finished()) return std::unexpected(wrong(line_, "expected [PORT] \"ID\"[PORT]"));
    if (*port == 0 || *port > node.ports)
      return std::unexpected(
          wrong(line_, "port " + std::to_string(*port) + " of a node with ports 1 to " + std::to_string(node.ports)));
    if (!node.is_switch && cable.port_guid == 0)
      return std::unexpected(wrong(line_, "the port of a host needs its GUID in parentheses"));
    cable.port = *port;
    cable.far_id = *far;
    cable.far_port = *far_port;
    if (!node.is_switch) cable.lids = reader.lids();
    node.cables.push_back(cable);
    return {};
  }

  std::size_t line_ = 1;
  std::optional<std::uint64_t> guid_;
  std::vector<Node> nodes_;
};

// Turns the nodes into a graph, checking that both ends of each cable say the same.
class Assembler {
 public:
  explicit Assembler(const std::vector<Node>& nodes) : nodes_(nodes) {}

  Result<Fabric> run() {
    if (auto done = index(); !done) return std::unexpected(std::move(done).error());
    for (const Node& node : nodes_)
      if (node.is_switch) {
        switch_of_[&node] = static_cast<SwitchIndex>(graph_.switches.size());
        graph_.switches.push_back(
            {.name = name_of(node), .guid = node.guid, .ports = std::vector<Peer>(node.ports + 1)});
      }
    for (const Node& node : nodes_)
      for (const Cable& cable : node.cables)
        if (auto done = lay(node, cable); !done) return std::unexpected(std::move(done).error());
    return arrange(std::move(graph_));
  }

 private:
  Result<void> index() {
    for (const Node& node : nodes_) {
      if (!by_id_.try_emplace(node.id, &node).second)
        return std::unexpected(wrong(node.line, "'" + std::string(node.id) + "' appears twice"));
      ++descriptions_[node.description];
    }
    return {};
  }

  std::string name_of(const Node& node) const {
    return std::string(!node.description.empty() && descriptions_.at(node.description) == 1 ? node.description
                                                                                            : node.id);
  }

  // The line of the far node that describes the same cable.
  Result<const Cable*> far_end(const Node& node, const Cable& cable) {
    const auto far = by_id_.find(cable.far_id);
    if (far == by_id_.end())
      return std::unexpected(wrong(cable.line, "no node is called '" + std::string(cable.far_id) + "'"));
    for (const Cable& other : far->second->cables)
      if (other.port == cable.far_port && other.far_id == node.id && other.far_port == cable.port) return &other;
    return std::unexpected(wrong(cable.line, "'" + std::string(cable.far_id) + "' does not say the same of its port " +
                                                 std::to_string(cable.far_port)));
  }

  Result<void> lay(const Node& node, const Cable& cable) {
    const auto other = far_end(node, cable);
    if (!other) return std::unexpected(other.error());
    if (!used_.insert({{&node, cable.port}, cable.line}).second)
      return std::unexpected(wrong(cable.line, "port " + std::to_string(cable.port) + " appears twice"));
    const Node& far = *by_id_.at(cable.far_id);
    if (!far.is_switch && !node.is_switch)
      return std::unexpected(wrong(cable.line, "two hosts are cabled to each other, without a switch"));
    if (!node.is_switch) return {}; // laid from the switch's side
    const SwitchIndex here = switch_of_.at(&node);
    const auto port = static_cast<Port>(cable.port);
    if (far.is_switch) {
      if (&far == &node) return std::unexpected(wrong(cable.line, "a switch is cabled to itself"));
      graph_.switches[here].ports[port] = {Peer::Kind::a_switch, static_cast<Port>(cable.far_port),
                                           switch_of_.at(&far)};
      return {};
    }
    Host host{.name = name_of(far),
              .guid = far.guid,
              .port_guid = (*other)->port_guid,
              .port = static_cast<Port>(cable.far_port)};
    if (const auto& lids = (*other)->lids) {
      host.lid = lids->base;
      host.lmc = lids->lmc;
    }
    if (far.cables.size() > 1) host.name += ":" + std::to_string(cable.far_port);
    graph_.hosts.push_back(std::move(host));
    connect_host(graph_, static_cast<HostIndex>(graph_.hosts.size() - 1), here, port);
    return {};
  }

  const std::vector<Node>& nodes_;
  Fabric graph_;
  std::map<std::string_view, const Node*> by_id_;
  std::map<std::string_view, std::size_t> descriptions_;
  std::map<const Node*, SwitchIndex> switch_of_;
  std::map<std::pair<const Node*, std::uint32_t>, std::size_t> used_;
};

} // namespace

Result<Fabric> parse_ibnetdiscover(std::string_view text) {
  const auto nodes = Parser().run(text);
  if (!nodes) return std::unexpected(nodes.error());
  return Assembler(*nodes).run();
}

} // namespace heddle::routing
