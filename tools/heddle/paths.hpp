// What the parts of `heddle paths` share.
#pragma once

#include "routing/fabric.hpp"
#include "subcommands.hpp"

#include <string>
#include <vector>

namespace heddle::tool {

// The hosts of the fabric that a job has. `nodes` is a list of numbers (0-5,9) or of names (n1,n[4-7]), or where they are written:
// hostfile:FILE, slurm (the allocation that this process is in), pmix (the job that this process is of). A host is meant by the first
// word of its description up to a dot; where a node has several ports, `adapter`, what follows that word, says which of them.
struct NodeSource {
  std::string nodes;
  std::string adapter;
};
Result<std::vector<routing::HostIndex>> find_nodes(const routing::Fabric& fabric, const NodeSource& source);

// Of a job that was started by PMIx, all but the first join and have nothing to do.
Result<bool> leaves_it_to_another(const NodeSource& source);

void add_paths_plan(CLI::App& paths, Invocation& invocation); // paths_plan.cpp

} // namespace heddle::tool
