// An unmodified MPI program on two machines: processes of one machine reach each other by shared memory, the others by TCP, and nobody has
// said which.
#include "tests/hosts/on_hosts.hpp"

#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

class MpiOnHosts : public WithMachines {
 protected:
  void SetUp() override {
    if (!fs::exists(HEDDLE_PROVIDER)) GTEST_SKIP() << "libheddle-fi.so was not built";
    if (Command({"/bin/sh", "-c", "command -v mpiexec.openmpi mpicxx.openmpi"}).status() != 0)
      GTEST_SKIP() << "no Open MPI (openmpi-bin, libopenmpi-dev)";
    make(Form::separate, 2);
  }
  // As Open MPI calls a remote shell: host and a line for a shell there.
  [[nodiscard]] std::string remote_shell() const {
    const fs::path path = machines_->folder() / "mpi_shell";
    std::ofstream(path) << "#!/bin/sh\nhost=$1; shift; exec " << (machines_->folder() / "shell").string()
                        << " \"$host\" /bin/sh -c \"$*\"\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  [[nodiscard]] std::string compiled() const {
    const std::string program = (machines_->folder() / "program").string();
    Command compiler({"/usr/bin/env", "mpicxx.openmpi", "-std=c++23", "-O1", "-w",
                      std::string(HEDDLE_TEST_SOURCES) + "/../mpi/random.cpp", "-o", program});
    const std::string said = compiler.rest();
    EXPECT_EQ(compiler.status(), 0) << said;
    return program;
  }
  // What the processes of a job of 4 said, two on each machine; --tag-output begins each line with the rank.
  std::string run_four(const std::vector<std::string>& options, const Command::Variables& variables) {
    std::vector<std::string> words{HEDDLE_PROGRAM, "mpi"};
    words.insert(words.end(), options.begin(), options.end());
    const std::string program = compiled();
    words.insert(words.end(), {"--", "mpiexec.openmpi", "--oversubscribe", "--tag-output", "--mca", "plm_rsh_agent",
                               remote_shell(), "--host", machines_->hosts(2), "-n", "4", program, "7", "10"});
    Command command(machines_->at_launcher(machines_->folder(), words), machines_->variables(variables));
    std::string said = command.rest();
    EXPECT_EQ(command.status(), 0) << said;
    return said;
  }
  static std::ptrdiff_t count(const std::string& said, int rank, const std::string& what) {
    const std::string begin = "[1," + std::to_string(rank) + "]<stderr>";
    return std::ranges::count_if(lines_of(said), [&](const std::string& line) {
      return line.starts_with(begin) && line.find(what) != std::string::npos;
    });
  }
};

TEST_F(MpiOnHosts, EachPairUsesTheNetworkThatLeadsThere) {
  const std::string said = run_four({}, {{"HEDDLE_LOG_LEVEL", "info"}});
  EXPECT_NE(said.find("fine"), std::string::npos) << said;
  for (int rank = 0; rank < 4; ++rank) { // one other is on the same machine
    EXPECT_EQ(count(said, rank, " is reached by shm"), 1) << rank << ": " << said;
    EXPECT_EQ(count(said, rank, " is reached by tcp"), 2) << rank << ": " << said;
  }
}

TEST_F(MpiOnHosts, OneNetworkServesAllWhereOneIsAskedFor) {
  const std::string said = run_four({"--via", "tcp"}, {{"HEDDLE_LOG_LEVEL", "info"}});
  EXPECT_NE(said.find("fine"), std::string::npos) << said;
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(count(said, rank, " is reached by tcp"), 3) << rank << ": " << said;
}

} // namespace
} // namespace heddle::tests
