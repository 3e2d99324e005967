#include "routing/subnet_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "base/text_file.hpp"
#include "routing/ibnetdiscover.hpp"
#include "routing/tree.hpp"

namespace heddle::routing {
namespace {

constexpr std::array<std::string_view, 6> kParameters{"lmc", "lids", "failed", "hosts", "uplinks", "links"};

bool names_tree(std::string_view shape) {
  return shape.find("-ary-") != std::string_view::npos && shape.find('/') == std::string_view::npos;
}

Result<void> read_lmc(SubnetText& subnet, std::string_view value) {
  if (value == "all") {
    subnet.every_lid = true;
    return {};
  }
  std::uint32_t lmc = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), lmc);
  if (status != std::errc{} || end != value.data() + value.size() || lmc > kLargestLmc)
    return refuse("lmc cannot be '" + std::string(value.substr(0, 40)) + "': expected 0 to " +
                  std::to_string(kLargestLmc) + ", or all");
  subnet.lmc = lmc;
  return {};
}

Result<void> read_parameter(SubnetText& subnet, std::string_view parameter) {
  const std::size_t equals = parameter.find('=');
  const std::string_view name = parameter.substr(0, equals);
  if (std::ranges::find(kParameters, name) == kParameters.end())
    return refuse("parameter '" + std::string(name.substr(0, 40)) + "' is unknown",
                  "did you mean " + std::string(base::nearest(name, kParameters)) + "?");
  if (equals == std::string_view::npos)
    return refuse("parameter '" + std::string(name) + "' has no value: expected name=value");
  const std::string_view value = parameter.substr(equals + 1);
  if (name == "lmc") return read_lmc(subnet, value);
  if (name == "failed") {
    subnet.failed.emplace_back(value);
  } else if (name == "lids") {
    const auto rule = parse_lid_rule(value);
    if (!rule) return std::unexpected(rule.error());
    subnet.rule = *rule;
  } else {
    subnet.shape += "," + std::string(parameter); // the tree's own
  }
  return {};
}

// What stands before the first parameter. A file's name may hold commas, so only a comma with a known name after it ends one.
std::size_t end_of_shape(std::string_view text) {
  if (names_tree(text)) return std::min(text.find(','), text.size());
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1))
    for (const std::string_view name : kParameters)
      if (text.substr(comma + 1).starts_with(std::string(name) + "=")) return comma;
  return text.size();
}

} // namespace

std::span<const std::string_view> subnet_parameters() {
  return kParameters;
}

Result<std::string> read_topology(const std::string& path) {
  auto text = base::read_text_file(path, {.what = "topology", .most = kLargestFile});
  if (text) return text;
  return refuse(text.error().fact + ", and it is not a tree",
                "give a tree such as 6-ary-2-tree:30, or what ibnetdiscover printed");
}

Result<SubnetText> parse_subnet(std::string_view text) {
  SubnetText subnet;
  const std::size_t end = end_of_shape(text);
  subnet.shape = text.substr(0, end);
  subnet.tree = names_tree(subnet.shape);
  std::string_view rest = text.substr(end);
  while (!rest.empty()) {
    rest.remove_prefix(1); // the comma
    const std::size_t next = std::min(rest.find(','), rest.size());
    if (auto read = read_parameter(subnet, rest.substr(0, next)); !read) return std::unexpected(read.error());
    rest.remove_prefix(next);
  }
  return subnet;
}

Result<Fabric> open_fabric(const SubnetText& subnet, ReadText read) {
  Result<Fabric> fabric = Fabric{};
  if (subnet.tree) {
    const auto shape = parse_tree(subnet.shape);
    if (!shape) return std::unexpected(shape.error());
    fabric = build_tree(*shape);
  } else {
    const auto text = read(subnet.shape);
    if (!text) return std::unexpected(text.error());
    fabric = parse_ibnetdiscover(*text);
    if (!fabric) {
      Error error = fabric.error();
      error.fact = subnet.shape + ": " + error.fact;
      return std::unexpected(std::move(error));
    }
  }
  for (const std::string& thing : subnet.failed)
    if (auto done = fail(*fabric, thing); !done) return std::unexpected(done.error());
  return fabric;
}

Result<Subnet> open_subnet(const SubnetText& subnet, std::optional<std::uint32_t> lmc, ReadText read) {
  auto fabric = open_fabric(subnet, read);
  if (!fabric) return std::unexpected(std::move(fabric).error());
  const auto wanted = subnet.every_lid ? std::optional<std::uint32_t>{} : subnet.lmc ? subnet.lmc : lmc;
  return make_subnet(std::move(*fabric), wanted, subnet.rule);
}

} // namespace heddle::routing
