// A subnet in one text, however it is used: by `heddle route`, by option topology, by the simulator.
//   TREE|FILE[,name=value...]
//   TREE            as tree.hpp: K-ary-N-tree[:NODES], with hosts=, uplinks= and links=
//   FILE            what ibnetdiscover printed
//   lmc=L|all       2^L LIDs for each host; all: one for every up-path, or as many as InfiniBand's limits allow
//   lids=RULE       which up-path base LIDs take: conventional or report (lid_rule.hpp)
//   failed=THING    a host, switch or cable that is out of order (fabric.hpp); once for each
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routing/tables.hpp"

namespace heddle::routing {

struct SubnetText {
  std::string shape; // tree with its own parameters, or file
  bool tree = false; // which of the two
  std::optional<std::uint32_t> lmc;
  bool every_lid = false; // lmc=all
  LidRule rule = kConventionalLids;
  std::vector<std::string> failed;
};

// Names of parameters, those of a tree included.
std::span<const std::string_view> subnet_parameters();

// How a file is read; another one serves tests.
using ReadText = Result<std::string> (*)(const std::string& path);
Result<std::string> read_topology(const std::string& path);

// What has -ary- in it and no / is a tree. bad_argument: a parameter that is none, or a value that it cannot have; the shape
// is looked at when it is opened.
Result<SubnetText> parse_subnet(std::string_view text);

// The fabric without what has failed. Errors in a file name it.
Result<Fabric> open_fabric(const SubnetText& subnet, ReadText read = read_topology);

// With the LIDs that the text asks for; without a word on them, `lmc`, and where that is nothing, as lmc=all.
Result<Subnet> open_subnet(const SubnetText& subnet, std::optional<std::uint32_t> lmc = {},
                           ReadText read = read_topology);

} // namespace heddle::routing
