// How a process finds the others of its job: it publishes a card in the store, reads everybody's, and takes for each peer the first
// network that both use and that leads there. The same for jobs of real processes, of tests and of the simulator.
// What comes before and after, options, translators and the engine, is in api/join.cpp.
#pragma once

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "collective/costs.hpp"
#include "collective/grouping.hpp"
#include "engine/engine.hpp"
#include "ir/translator.hpp"
#include "job/card.hpp"
#include "job/hosts.hpp"
#include "store/store.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::job {

// What joining tells of the job.
struct Roster {
  std::vector<engine::Contact> contacts; // by rank; port 0 is this process to itself, port 1 + i networks[i]
  std::shared_ptr<const collective::Grouping> grouping; // who shares a node
  std::shared_ptr<const Hosts> hosts;                   // and what it is called
  double on_each = 1;                                   // processes on this node for each processor that they may use
  collective::Costs costs;                              // of collectives
};

struct Member {
  store::Store& store;
  // In order of preference; the engine's bootstrap memory is allocated on each.
  std::span<ir::Translator* const> networks;
  std::uint64_t node = 0;  // this machine
  const std::string& host; // its name
  const base::Settings& settings;
  const base::Log& log;
  bool simulated = false; // networks and processes take turns: nothing happens at the same time; for utofu
};

// Says who this process is.
Result<void> publish(const Member& self, base::Deadline deadline);

// Waits until all have, and takes from their cards how each is reached. Paths are chosen where option topology is given.
Result<Roster> meet(const Member& self, base::Deadline deadline);

} // namespace heddle::job
