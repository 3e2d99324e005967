// Several jobs at once on one fabric, each in its own all-to-all. Jobs do not keep step with each other, so two questions are
// asked: the largest load while all are at the same stage, and the largest that any combination of stages could bring.
#pragma once

#include "routing/load.hpp"
#include "routing/methods.hpp"

namespace heddle::routing {

struct JobsLoad {
  std::uint32_t in_step = 0;  // all jobs at the same shift distance; who has no more stages is idle
  std::uint32_t any_step = 0; // per link the sum of each job's largest load, whatever their stages
};

struct JobsPlan {
  std::vector<Selection> selections; // [job]
  bool separate = false;             // jobs that share a leaf use different up-paths, so that steps do not matter
};

// bad_argument: a node in two jobs.
Result<void> check_disjoint(const std::vector<JobHosts>& jobs);

// Each as if it were alone.
Result<JobsPlan> plan_alone(const Subnet& subnet, const std::vector<JobHosts>& jobs, Method method);

// By colouring, all in one. Jobs that share leaves get up-paths of their own where there are enough: then there is no hot spot
// whatever stages they are at. Else all are coloured as one job, stage by stage: no hot spot while they keep step.
JobsPlan plan_together(const Subnet& subnet, const std::vector<JobHosts>& jobs);

Result<JobsLoad> load_of_jobs(const Subnet& subnet, const std::vector<JobHosts>& jobs, const JobsPlan& plan);

} // namespace heddle::routing
