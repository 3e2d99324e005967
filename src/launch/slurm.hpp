// What Slurm says to the tasks of a step, and to a script inside an allocation.
#pragma once

#include "base/environment.hpp"
#include "launch/hosts.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::launch {

// A step of several tasks, of which this process is one. A batch script is none.
struct SlurmStep {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::uint32_t nodes = 0;
  std::string name; // of cluster, job and step: no other has it
  std::string first_node;

  static std::optional<SlurmStep> of(const base::Environment& environment);

  // Where its tasks meet if nobody says another place: inside a node by a socket with the step's name, otherwise at a port of the first
  // node, which is derived from it, too; nothing where that node is not known.
  [[nodiscard]] std::optional<std::string> meeting_place() const;
};

// Whether this is a job's script, or was started there without srun: Slurm gives it a rank all the same, and
// no step, or one of a number that is none of tasks.
bool is_of_slurm_script(const base::Environment& environment);

// Kills all tasks of the step that this process is in, if it is in one, by Slurm's own command; waits until that has ended, or some seconds.
void cancel_slurm_step(const base::Environment& environment);

// "n[1-3,07],login": every name, in order; empty where the text is no such list, or of more than 65536.
std::vector<std::string> expand_node_list(std::string_view text);
// "2(x3),1": 2, 2, 2, 1; the same.
std::vector<std::uint32_t> expand_counts(std::string_view text);

// The nodes of the allocation that this process is in, with how many tasks each may have; nothing outside of one.
std::optional<std::vector<Host>> slurm_allocation(const base::Environment& environment);

} // namespace heddle::launch
