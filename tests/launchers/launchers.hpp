// Other people's launchers and servers for tests: real ones, started by the test, private to it, and gone with it.
#pragma once

#include "tests/command/command.hpp"
#include "tests/namespaces/machines.hpp"

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tests {

using Words = std::vector<std::string>;

inline Words operator|(Words one, const Words& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

inline const std::string kLaunchedProgram = std::string(HEDDLE_TEST_PROGRAMS) + "/launched_program";

inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

// A folder of its own, gone with the object, and open to the users that servers may run as.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The first program of that name that can be started, also of those for administrators; empty: none.
std::string find_program(const std::string& name);
// Of several, those that are missing; empty: none.
std::string missing(const std::vector<std::string>& names);

// A memcached on a socket or a TCP port of its own.
class MemcachedServer {
 public:
  enum class By { socket, tcp };
  explicit MemcachedServer(By by, const std::vector<std::string>& options = {});
  // What option store says after "memcached:".
  [[nodiscard]] const std::string& address() const { return address_; }
  // Ends it, and starts another one at the same place, which knows nothing.
  void stop() { server_.reset(); }
  void start();

 private:
  Folder folder_;
  By by_;
  std::vector<std::string> options_;
  std::string address_;
  std::unique_ptr<Command> server_;
};

// A Slurm cluster of three nodes, all on this machine or each on one of those.
class SlurmCluster {
 public:
  explicit SlurmCluster(const Machines* machines = nullptr);
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;
  ~SlurmCluster();
  // For commands of Slurm.
  [[nodiscard]] Command::Variables variables() const;
  // Where its files are.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  // It serves; otherwise `why` says what it has said.
  [[nodiscard]] bool ready(std::string& why) const;

 private:
  Folder folder_;
  std::unique_ptr<Command> cluster_;
  std::string said_;
};

// Says which of the networks shm and tcp each process was served by, for whom: as its own log of level info tells it, and as its node makes
// it to be. Empty: so it is; otherwise what is not.
std::string wrong_networks(const std::string& output, const std::vector<std::string>& node_of);

// Ports of this machine that nobody listens at, one after the other; the first.
int free_ports(int count);

// The process of that name that has TEST_MARK with that value in its environment; 0: none.
pid_t process_with(const std::string& mark, const std::string& name);

// Processes that have TEST_MARK with that value in their environment, by their names, when so much time has passed or as soon as there
// is none.
std::vector<std::string> left_of(const std::string& mark, int seconds);

} // namespace heddle::tests
