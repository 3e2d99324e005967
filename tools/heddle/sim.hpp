// What `heddle sim` is asked for, and how a job on a simulated fabric is set up; shared by its workloads (sim.cpp) and recorded jobs
// (sim_job.cpp).
#pragma once

#include "base/options.hpp"

#include <heddle/simulation.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tool {

struct SimArguments {
  std::string workload;
  std::string fabric;
  std::string bytes = "8,1KiB,64KiB";
  std::string trace;
  std::string trace_in; // a recorded job to do again, instead of a workload
  std::string record;
  std::string svg;
  std::vector<std::string> cut;
  std::vector<std::string> plug;
  std::uint32_t peers = 0;
  std::uint32_t per_node = 1;
  std::string nodes;
  std::string paths;
  std::string schedule{base::kPlanned};
  std::string model = "packets";
  std::uint32_t rounds = 10;
  std::uint64_t seed = 1;
  bool json = false;
};

// `processes`: on the whole fabric where it is 0. Where all talk to all, rings are so small that all fit.
Result<simulation::World> world_for(const SimArguments& arguments, std::uint32_t processes, bool all_talk);

int run_recorded_job(const SimArguments& arguments);

} // namespace heddle::tool
