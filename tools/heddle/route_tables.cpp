// heddle route tables: what a subnet manager needs, as files.
#include "route.hpp"
#include "routing/opensm_files.hpp"

#include <fmt/core.h>

namespace heddle::tool {
namespace {

struct TablesArguments {
  FabricArguments fabric;
  std::string out;
  bool json = false;
};

Result<void> write_files(const routing::Subnet& subnet, const std::string& folder) {
  if (auto made = make_folder(folder); !made) return made;
  return write_whole_files({{folder + "/fabric.net", routing::ibsim_file(subnet.fabric)},
                            {folder + "/lfts", routing::lft_file(subnet)},
                            {folder + "/guid2lid", routing::guid2lid_file(subnet)}});
}

int run_tables(const TablesArguments& arguments) {
  const auto subnet = open_subnet(arguments.fabric);
  if (!subnet) return failed("route tables", subnet.error());
  if (auto reachable = routing::check_reachable(*subnet); !reachable) {
    if (reachable.error().code == ErrorCode::unreachable)
      reachable.error().remedy = "where a leaf is cut off, name it in --failed, and its hosts are left out";
    return failed("route tables", reachable.error());
  }
  if (auto written = write_files(*subnet, arguments.out); !written) return failed("route tables", written.error());
  const routing::LidPlan& lids = subnet->lids;
  const std::string name = name_of(arguments.fabric);
  if (arguments.json) {
    fmt::print("{}\n", Json{{"tree", name},
                            {"hosts", lids.hosts},
                            {"switches", lids.switches},
                            {"levels", subnet->fabric.levels},
                            {"up_paths", lids.up_paths},
                            {"lmc", lids.lmc},
                            {"lids", lids.rule.name},
                            {"largest_lid", lids.largest()},
                            {"limit", lids.limit.empty() ? Json() : Json(lids.limit)},
                            {"files", {"fabric.net", "lfts", "guid2lid"}}}
                           .dump());
    return 0;
  }
  fmt::print("{}: {} hosts, {} switches in {} levels, {} up-paths\n", name, lids.hosts, lids.switches,
             subnet->fabric.levels, lids.up_paths);
  fmt::print("lmc {}: hosts have LIDs from {}, switches {} to {}\n", lids.lmc, lids.lid(0, 0), lids.switch_lid(0),
             lids.largest());
  fmt::print("lids {}: base LIDs go by {}\n", lids.rule.name,
             lids.rule.spread ? "the up-paths in turn, as with one LID per host" : "up-path 0, all of them");
  if (!lids.limit.empty()) fmt::print("limit: {}\n", lids.limit);
  fmt::print("written to {}: fabric.net (ibsim), lfts (opensm -R file,no_fallback -U), guid2lid (OSM_CACHE_DIR)\n",
             arguments.out);
  return 0;
}

} // namespace

void add_route_tables(CLI::App& route, Invocation& invocation) {
  auto arguments = std::make_shared<TablesArguments>();
  CLI::App* tables = route.add_subcommand("tables", "Write OpenSM's tables and LIDs, and a topology to try them on");
  add_fabric_options(*tables, arguments->fabric);
  tables->add_option("--out", arguments->out, "Folder for fabric.net, lfts and guid2lid")->required()->type_name("DIR");
  add_json_flag(*tables, arguments->json);
  tables->footer("Example: heddle route tables --tree 18-ary-2-tree --out tables");
  tables->callback([arguments, &invocation] { invocation.exit_status = run_tables(*arguments); });
}

} // namespace heddle::tool
