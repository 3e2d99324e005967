// Who this process is in its job, as its launcher's environment says.
// Not here: starting processes (launcher.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "auth/secret.hpp"
#include "base/environment.hpp"
#include "base/options.hpp"
#include "heddle/error.hpp"
#include "store/store.hpp"

namespace heddle::launch {

struct JobIdentity {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string job;                    // the same for all processes of the job; empty for a single process
  std::string store;                  // address of the built-in store; empty for a single process
  std::optional<auth::Secret> secret; // what all processes of the job know

  [[nodiscard]] bool single() const { return store.empty(); }
};

// Reads HEDDLE_RANK, HEDDLE_SIZE, HEDDLE_JOB and HEDDLE_SECRET; the store's address comes from the settings (HEDDLE_STORE).
// None of them: a job of one process where settings.single asks for it, otherwise no_launcher, which names the launcher
// whose traces are there (PMI_RANK, SLURM_PROCID ...), so that nobody computes as "0 of 1" by accident.
Result<JobIdentity> detect(const base::Environment& environment, const base::Settings& settings);

// The store of that job: connected to the launcher's, or one of its own for a single process.
Result<std::unique_ptr<store::Store>> open_store(const JobIdentity& identity, base::Deadline deadline);

} // namespace heddle::launch
