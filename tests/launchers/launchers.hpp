// Other people's launchers and servers for tests: real ones, started by the test, private to it, and gone with it.
#pragma once

#include "tests/command/command.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heddle::tests {

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

// A Slurm cluster on this machine, of three nodes.
class SlurmCluster {
 public:
  SlurmCluster();
  SlurmCluster(const SlurmCluster&) = delete;
  SlurmCluster& operator=(const SlurmCluster&) = delete;
  ~SlurmCluster();
  // For commands of Slurm.
  [[nodiscard]] Command::Variables variables() const;
  // It serves; otherwise `why` says what it has said.
  [[nodiscard]] bool ready(std::string& why) const;

 private:
  Folder folder_;
  std::unique_ptr<Command> cluster_;
  std::string said_;
};

// Ports of this machine that nobody listens at, one after the other; the first.
int free_ports(int count);

// Processes that have TEST_MARK with that value in their environment, by their names, when so much time has passed or as soon as there
// is none.
std::vector<std::string> left_of(const std::string& mark, int seconds);

} // namespace heddle::tests
