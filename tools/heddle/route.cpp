// heddle route: tables, LIDs and paths of a fat tree. Finds the fabric; each subcommand is a file of its own.
#include "route.hpp"

#include "base/text_file.hpp"
#include "put_pattern.hpp"
#include "routing/ibnetdiscover.hpp"
#include "routing/subnet_text.hpp"
#include "routing/tree.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace heddle::tool {
namespace {

// The error with the place it happened at before it.
Error at(std::string_view where, Error error) {
  error.fact = fmt::format("{}: {}", where, error.fact);
  return error;
}

// Of the two kinds of file: lines of nodes and dashes are stages, a line of names or JSON are puts.
bool has_stages(std::string_view text) {
  traffic::Cursor cursor(text);
  while (!cursor.at_end()) {
    cursor.skip_any_of(" \t\r\n");
    if (cursor.peek() != '#') break;
    cursor.skip_line();
  }
  const char first = cursor.peek();
  return first != '[' && first != '{' && first != '"' && (first < 'a' || first > 'z');
}

Result<routing::Pattern> pattern_of_file(std::string_view text, std::uint32_t nodes) {
  const auto puts = traffic::parse_puts(text);
  if (!puts) return std::unexpected(puts.error());
  return pattern_of_puts(*puts, nodes);
}

Error cannot(std::string_view what, const std::string& path) {
  return {.code = ErrorCode::bad_argument, .fact = fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno))};
}

} // namespace

void add_fabric_options(CLI::App& command, FabricArguments& arguments) {
  CLI::Option_group* fabric = command.add_option_group("fabric");
  fabric->add_option("--tree", arguments.tree, "K-ary-N-tree[:NODES][,hosts=H][,uplinks=U][,links=P]")
      ->type_name("TREE");
  fabric->add_option("--topology", arguments.topology, "What ibnetdiscover printed of a subnet, instead of a tree")
      ->type_name("FILE");
  fabric->require_option(1);
  command.add_option("--failed", arguments.failed, "What is out of order, such as root3,leaf0-root1,host7")
      ->type_name("LIST");
  command.add_option("--lmc", arguments.lmc, "LIDs per host: 2^L; default: one for every up-path, if they fit")
      ->type_name("L");
  command
      .add_option("--lids", arguments.lids,
                  "The up-path of base LIDs: conventional (host i by up-path i mod K), report (up-path 0)")
      ->capture_default_str()
      ->type_name("RULE");
}

void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "One JSON object instead of the table");
}

Result<routing::Subnet> open_subnet(const FabricArguments& arguments) {
  const auto rule = routing::parse_lid_rule(arguments.lids);
  if (!rule) return std::unexpected(at("--lids", rule.error()));
  const bool tree = arguments.topology.empty();
  if (tree)
    if (const auto shape = routing::parse_tree(arguments.tree); !shape)
      return std::unexpected(at("--tree", shape.error()));
  auto fabric =
      routing::open_fabric({.shape = tree ? arguments.tree : arguments.topology, .tree = tree}, read_whole_file);
  if (!fabric) return std::unexpected(fabric.error());
  if (!arguments.failed.empty())
    if (auto done = routing::fail(*fabric, arguments.failed); !done)
      return std::unexpected(at("--failed", done.error()));
  return routing::make_subnet(std::move(*fabric), arguments.lmc, *rule);
}

Result<routing::JobHosts> open_job(const routing::Subnet& subnet, const std::string& nodes) {
  const auto list = routing::parse_node_list(nodes);
  if (!list) return std::unexpected(list.error());
  return routing::make_job(subnet.fabric, *list);
}

Result<routing::Pattern> open_pattern(const std::string& text, std::uint32_t nodes) {
  if (text == "shift") return routing::Pattern::shift(nodes);
  if (text == "doubling") return routing::Pattern::doubling(nodes);
  if (text == "neighbour") return routing::Pattern::neighbour(nodes);
  const auto file = read_whole_file(text);
  if (!file) {
    Error error = file.error();
    error.remedy = "--pattern takes shift, doubling, neighbour or a file";
    return std::unexpected(error);
  }
  auto pattern = has_stages(*file) ? routing::parse_pattern(*file, nodes) : pattern_of_file(*file, nodes);
  if (!pattern) return std::unexpected(at(text, pattern.error()));
  return pattern;
}

std::string name_of(const FabricArguments& arguments) {
  if (!arguments.topology.empty()) return arguments.topology;
  const auto shape = routing::parse_tree(arguments.tree);
  return shape ? routing::to_text(*shape) : arguments.tree;
}

Result<std::string> read_whole_file(const std::string& path) {
  return base::read_text_file(path, {.what = "file", .most = routing::kLargestFile, .pipes = true});
}

Result<void> make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = fmt::format("cannot make the folder '{}': {}", folder, error.message())});
  return {};
}

Result<void> write_whole_files(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<std::string> parts; // where it is written first
  const auto refuse_all = [&parts, &files](std::size_t at) {
    const Error error = cannot("write", files[at].first);
    std::error_code none;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i] != files[i].first) std::filesystem::remove(parts[i], none);
    return std::unexpected(error);
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [path, text] = files[i];
    std::error_code none;
    const auto there = std::filesystem::status(path, none);
    if (std::filesystem::is_directory(there)) {
      errno = EISDIR;
      return refuse_all(i);
    }
    const bool beside = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there); // else a device
    parts.push_back(beside ? path + ".part" : path);
    std::ofstream file(parts.back(), std::ios::binary);
    file << text;
    file.close();
    if (!file) return refuse_all(i);
  }
  for (std::size_t i = 0; i < files.size(); ++i)
    if (parts[i] != files[i].first && std::rename(parts[i].c_str(), files[i].first.c_str()) != 0) return refuse_all(i);
  return {};
}

void add_route(CLI::App& program, Invocation& invocation) {
  CLI::App* route = program.add_subcommand("route", "Tables, LIDs and paths of a fat tree that leave no hot spot");
  route->require_subcommand(1);
  add_route_tables(*route, invocation);
  add_route_select(*route, invocation);
  add_route_load(*route, invocation);
  add_route_sweep(*route, invocation);
  route->footer("Example: heddle route load --tree 6-ary-2-tree:30 --nodes 0-15 --method conventional");
}

} // namespace heddle::tool
