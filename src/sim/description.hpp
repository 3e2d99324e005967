// Fabrics as one writes them on a command line: KIND:SHAPE[,name=value...]
//   infiniband:6-ary-2-tree:30,lmc=3,speed=ddr      infiniband:cluster.net,failed=leaf0-root1
//   tofu:2x3x2,generation=d
//   rhinet:star:8,overlap=1      rhinet:ring:6      rhinet:office.txt
// docs/simulator.md lists the parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

// How a topology's file is read; another one serves tests.
using ReadFile = Result<std::string> (*)(const std::string& path);
Result<std::string> read_file(const std::string& path);

struct FabricReading {
  ReadFile read = read_file;
  bool every_lid =
      false; // where paths are to be planned: as with lmc=all, unless the text says how many LIDs there are
};

// Error bad_argument: one line that names what is wrong and what was expected.
Result<Fabric> parse_fabric(std::string_view text, const FabricReading& reading = {});

// Names of the parameters of "infiniband", "tofu" or "rhinet", for help texts; empty for an unknown kind.
std::vector<std::string_view> parameter_names(std::string_view kind);

// All parameters of a kind but those of an infiniband subnet, with their defaults as one would write them.
struct FabricParameter {
  std::string_view name;
  std::string value;
};
std::vector<FabricParameter> default_parameters(std::string_view kind);

} // namespace heddle::sim
