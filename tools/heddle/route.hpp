// What the subcommands of `heddle route` share: the fabric they are asked about, and how they fail.
#pragma once

#include "routing/methods.hpp"
#include "subcommands.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {

// Which fabric, and which of its LIDs.
struct FabricArguments {
  std::string tree;
  std::string topology; // a file as ibnetdiscover prints it, instead of a tree
  std::string failed;
  std::optional<std::uint32_t> lmc;
  std::string lids{routing::kConventionalLids.name};
};

// A node set, a method, a pattern.
struct JobArguments {
  std::string nodes;
  std::string method = "colouring";
  std::string pattern = "shift";
};

void add_fabric_options(CLI::App& command, FabricArguments& arguments);
void add_json_flag(CLI::App& command, bool& json);

Result<routing::Subnet> open_subnet(const FabricArguments& arguments);
Result<routing::JobHosts> open_job(const routing::Subnet& subnet, const std::string& nodes);
// shift, doubling, neighbour, or a file.
Result<routing::Pattern> open_pattern(const std::string& text, std::uint32_t nodes);

// How output names the fabric: the tree in its shortest form, or the file.
std::string name_of(const FabricArguments& arguments);

// With those above it; one that is there is fine.
Result<void> make_folder(const std::string& folder);
Result<std::string> read_whole_file(const std::string& path);
// Path and text of each. All are written beside their places before the first is moved there: none is ever half written.
Result<void> write_whole_files(const std::vector<std::pair<std::string, std::string>>& files);

void add_route_tables(CLI::App& route, Invocation& invocation); // route_tables.cpp
void add_route_select(CLI::App& route, Invocation& invocation); // route_select.cpp
void add_route_load(CLI::App& route, Invocation& invocation);   // route_load.cpp
void add_route_sweep(CLI::App& route, Invocation& invocation);  // route_sweep.cpp

} // namespace heddle::tool
