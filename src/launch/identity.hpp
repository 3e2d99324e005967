// Who this process is in its job, as its launcher's environment says, whoever that launcher is.
// Not here: meeting the others (meeting.hpp), starting processes (launcher.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "auth/secret.hpp"
#include "base/environment.hpp"
#include "base/options.hpp"
#include "heddle/error.hpp"
#include "store/pinboard.hpp"
#include "store/pmi.hpp"

namespace heddle::launch {

// By what a process meets the others of its job.
enum class Meeting : std::uint8_t {
  alone,     // nobody else is there
  store,     // the store of `heddle run`
  pmi,       // the launcher's board by PMI
  pmix,      // the same by PMIx
  memcached, // the same by a memcached server that option store names
  agreed,    // an address that all know, at which rank 0 keeps the store
};

inline constexpr std::string_view kHydra = "Hydra's mpiexec"; // as a launcher

struct JobIdentity {
  Meeting meeting = Meeting::alone;
  std::uint32_t rank = 0;
  std::uint32_t size = 1; // 0: the launcher's board says it
  std::string job;        // the same for all processes of the job; empty for a single process
  std::string store;      // where the store is, or is to be; empty where a board says it, and for a single process
  std::optional<auth::Secret> secret; // what all processes of the job know
  store::Placement placement;         // as far as the environment tells
  store::Pmi::Place pmi;
  std::string launcher; // for people: "Slurm (srun --mpi=pmi2)"
  std::string evidence; // and how that was seen: "PMI_FD=13"

  [[nodiscard]] bool single() const { return meeting == Meeting::alone; }
};

// That no launcher has lost its mind: what a process keeps of each other one would take all its memory.
inline constexpr std::uint32_t kLargestJob = 1U << 20;
Result<void> check_size(std::uint32_t size, const std::string& launcher);

// Looks for `heddle run` (HEDDLE_RANK, HEDDLE_SIZE, HEDDLE_JOB), PMI (PMI_FD, PMI_PORT), PMIx (PMIX_NAMESPACE ...) and a step of Slurm
// (SLURM_PROCID ...), the last only where none of the others is there, since launchers use it to start others. Option store decides
// where several are. None: a job of one process where settings.single asks for it, otherwise no_launcher, which names what was seen,
// so that nobody computes as "0 of 1" by accident. So do two at once, and half of one.
Result<JobIdentity> detect(const base::Environment& environment, const base::Settings& settings);

} // namespace heddle::launch
