// Launchers of others' on three machines of namespaces, which share nothing but files: TCP between them, shared memory inside of each.
#pragma once

#include "tests/launchers/launchers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>

namespace heddle::tests {

// How a launcher that runs beside the machines starts processes on them.
struct NodeLauncher {
  std::string name;
  Words programs; // that it needs
  bool slurm = false;
  bool memcached = false;
  // The words before the program, for so many processes on each machine.
  std::function<Words(const Machines&, const std::vector<int>& on_each)> command;
  Command::Variables variables{};
  bool lives = false;           // who is left when one process is killed goes on
  bool lives_elsewhere = false; // so, but on the machine of that process they may be ended
  bool forgets_to_end = false;  // it waits for ever when all its processes have ended, one of them by a signal
  std::string node_daemon{};    // what it has on each machine
};

inline void PrintTo(const NodeLauncher& launcher, std::ostream* out) {
  *out << launcher.name;
}

std::vector<NodeLauncher> node_launchers();

class OnNodes : public testing::TestWithParam<NodeLauncher> {
 protected:
  void SetUp() override;
  void TearDown() override;

  static constexpr int kMachines = 3;
  // So many on each machine; a launcher that takes longer is ended with status 124.
  [[nodiscard]] std::unique_ptr<Command> run(const std::vector<int>& on_each, const Words& arguments,
                                             const Command::Variables& more = {}) const;
  // Its status, when it has ended; of one that forgets to, -1 when all its processes have, and it is ended, too.
  [[nodiscard]] int end_of(Command& command) const;
  // A command beside the launcher.
  [[nodiscard]] std::string aside(const Words& words) const;

  std::unique_ptr<Machines> machines_;
  std::optional<SlurmCluster> cluster_;
  std::optional<Command> memcached_;
  Command::Variables variables_;
};

} // namespace heddle::tests
