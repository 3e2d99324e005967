#include "tests/launchers/nodes.hpp"

#include "auth/secret.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace heddle::tests {

namespace {

constexpr const char* kLauncherAddress = "10.77.0.4"; // after those of three machines

// "m1:2,m2:2,m3:2"
std::string hosts_of(const std::vector<int>& on_each) {
  std::string text;
  for (std::size_t i = 0; i < on_each.size(); ++i)
    text += (i == 0 ? "m" : ",m") + std::to_string(i + 1) + ":" + std::to_string(on_each[i]);
  return text;
}

std::string sum_of(const std::vector<int>& on_each) {
  int sum = 0;
  for (const int count : on_each) sum += count;
  return std::to_string(sum);
}

Words hydra(const Machines& machines, const std::vector<int>& on_each, const Words& options) {
  return Words{find_program("mpiexec.hydra")} | options |
         Words{"-launcher",       "rsh", "-launcher-exec", machines.remote_shell(), "-hosts",
               hosts_of(on_each), "-n",  sum_of(on_each)};
}

// It passes on no variables of others'.
Words mpirun(const Machines& machines, const std::vector<int>& on_each, const Words& options) {
  return Words{find_program("mpirun"),
               "--allow-run-as-root",
               "--mca",
               "plm_rsh_agent",
               machines.remote_shell(),
               "--mca",
               "oob_tcp_if_include",
               "e0",
               "--host",
               hosts_of(on_each),
               "-x",
               "TEST_MARK",
               "-x",
               "HEDDLE_LOG_LEVEL"} |
         options | Words{"-n", sum_of(on_each)};
}

Words srun(const std::string& type, const std::vector<int>& on_each) {
  Words words{find_program("srun"),  "-Q", "--mpi=" + type, "-O", "-N", "3", "-n", sum_of(on_each),
              "--distribution=block"};
  if (on_each.front() == on_each.back()) words.push_back("--ntasks-per-node=" + std::to_string(on_each.front()));
  return words;
}

// Somebody's own launcher, who knows machines, a remote shell and numbers.
Words by_hand(const Machines& machines, const std::vector<int>& on_each) {
  std::string list;
  for (std::size_t i = 0; i < on_each.size(); ++i)
    for (int k = 0; k < on_each[i]; ++k) list += " m" + std::to_string(i + 1);
  return {"/bin/sh", "-c",
          "rank=0; for host in" + list + "; do " + machines.remote_shell().string() +
              " $host \"HEDDLE_RANK=$rank HEDDLE_SIZE=" + sum_of(on_each) +
              " HEDDLE_STORE=$HEDDLE_STORE HEDDLE_SECRET=$HEDDLE_SECRET HEDDLE_JOB=$HEDDLE_JOB "
              "HEDDLE_LOG_LEVEL=$HEDDLE_LOG_LEVEL exec $*\" & all=\"$all $!\"; rank=$((rank + 1)); done; "
              "worst=0; for p in $all; do wait $p || worst=$?; done; exit $worst",
          "launcher"};
}

} // namespace

std::vector<NodeLauncher> node_launchers() {
  using M = const Machines&;
  using Each = const std::vector<int>&;
  const std::string secret = auth::Secret::draw().text();
  return {
      {.name = "Hydra",
       .programs = {"mpiexec.hydra"},
       .command = [](M m, Each each) { return hydra(m, each, {}); },
       .node_daemon = "hydra_pmi_proxy"},
      {.name = "HydraPort",
       .programs = {"mpiexec.hydra"},
       .command = [](M m, Each each) { return hydra(m, each, {"-pmi-port"}); },
       .node_daemon = "hydra_pmi_proxy"},
      {.name = "HydraKeep", // -disable-auto-cleanup: who is left lives, but for those on the machine of the dead
       .programs = {"mpiexec.hydra"},
       .command = [](M m, Each each) { return hydra(m, each, {"-disable-auto-cleanup"}); },
       .lives_elsewhere = true,
       .node_daemon = "hydra_pmi_proxy"},
      {.name = "Mpirun",
       .programs = {"mpirun"},
       .command = [](M m, Each each) { return mpirun(m, each, {}); },
       .node_daemon = "orted"},
      {.name = "MpirunRecovery",
       .programs = {"mpirun"},
       .command = [](M m, Each each) { return mpirun(m, each, {"--enable-recovery"}); },
       .lives = true,
       .forgets_to_end = true,
       .node_daemon = "orted"},
      {.name = "SlurmNone",
       .programs = {"srun"},
       .slurm = true,
       .command = [](M, Each each) { return srun("none", each); },
       .variables = {{"HEDDLE_SECRET", secret}},
       .lives = true,
       .node_daemon = "slurmd"},
      {.name = "SlurmPmi2",
       .programs = {"srun"},
       .slurm = true,
       .command = [](M, Each each) { return srun("pmi2", each); },
       .lives = true,
       .node_daemon = "slurmd"},
      {.name = "SlurmPmix",
       .programs = {"srun"},
       .slurm = true,
       .command = [](M, Each each) { return srun("pmix", each); },
       .node_daemon = "slurmd"},
      {.name = "Memcached",
       .programs = {"memcached"},
       .memcached = true,
       .command = [](M m, Each each) { return by_hand(m, each); },
       .variables = {{"HEDDLE_SECRET", secret}, {"HEDDLE_JOB", "by-hand"}},
       .lives = true},
  };
}

void OnNodes::SetUp() {
  const NodeLauncher& launcher = GetParam();
  Words needed = launcher.programs;
  if (launcher.slurm) needed = needed | Words{"slurmctld", "slurmd", "munged", "setpriv"};
  if (const std::string without = missing(needed); !without.empty()) GTEST_SKIP() << "not installed: " << without;
  std::string why;
  machines_ = Machines::make(Form::separate, kMachines, why);
  if (machines_ == nullptr) GTEST_SKIP() << why;
  variables_ = machines_->variables(launcher.variables);
  variables_.emplace_back("HEDDLE_LOG_LEVEL", "info");
  if (launcher.slurm) {
    cluster_.emplace(machines_.get());
    ASSERT_TRUE(cluster_->ready(why)) << why;
    for (const auto& variable : cluster_->variables()) variables_.push_back(variable);
  }
  if (launcher.memcached) {
    memcached_.emplace(machines_->at(0, {find_program("memcached"), "-u", "root", "-l", kLauncherAddress, "-U", "0"}));
    variables_.emplace_back("HEDDLE_STORE", std::string("memcached:") + kLauncherAddress + ":11211");
    const auto listens = [this] {
      return machines_->in(0, std::string("bash -c \"exec 3<>/dev/tcp/") + kLauncherAddress + "/11211\"");
    };
    for (int i = 0; i < 1000 && !listens(); ++i) ::usleep(5000); // it tells nobody
  }
}

void OnNodes::TearDown() {
  if (machines_ == nullptr) return;
  EXPECT_EQ(machines_->left_after(std::chrono::seconds(20)), Words{});
}

std::unique_ptr<Command> OnNodes::run(const std::vector<int>& on_each, const Words& arguments,
                                      const Command::Variables& more) const {
  Command::Variables variables = variables_;
  variables.insert(variables.end(), more.begin(), more.end());
  const Words launcher = GetParam().command(*machines_, on_each) | Words{kLaunchedProgram} | arguments;
  return std::make_unique<Command>(machines_->at(0, Words{find_program("timeout"), "-k", "2", "60"} | launcher),
                                   variables);
}

int OnNodes::end_of(Command& command) const {
  if (!GetParam().forgets_to_end) return command.status();
  for (int machine = 1; machine <= kMachines;) {
    if (machines_->processes(static_cast<std::uint32_t>(machine), "launched_program").empty())
      ++machine;
    else
      ::usleep(5000); // nobody tells
  }
  for (const pid_t id : machines_->processes(0, "mpirun"))
    if (std::ranges::any_of(machines_->living(), [&](const auto& one) { return std::atoi(one.c_str()) == id; }))
      ::kill(id, SIGKILL);
  command.status();
  return -1;
}

std::string OnNodes::aside(const Words& words) const {
  Command command(machines_->at(0, words), variables_);
  return command.rest();
}

} // namespace heddle::tests
