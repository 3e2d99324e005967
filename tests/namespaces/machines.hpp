// Machines for jobs that run on several: made of the system's namespaces, or only pretended.
#pragma once

#include "tests/command/command.hpp"

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tests {

enum class Form : std::uint8_t {
  // All on this machine, each with a name of its own, connected by loopback. Needs no right.
  pretended,
  // Network, pids, host name, /dev/shm and boot id of its own each, connected by two switches, to interfaces e0 and e1; names of machines
  // mean e0, which the launcher has alone. Machine 2 is 10.77.0.2 there, and fd77::2 where the system knows IPv6. Processes of two of them share files alone. Needs root.
  separate,
};

// Where jobs are started, and the machines that they run on: "m1", "m2", ... Nothing of it is left when the object goes, nor when the
// process that holds it dies. Several may exist side by side.
class Machines {
 public:
  // Null where the system gives no right to make them; then `why` says so.
  static std::unique_ptr<Machines> make(Form form, std::uint32_t count, std::string& why);
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;
  ~Machines();

  [[nodiscard]] bool separate() const { return form_ == Form::separate; }
  // A folder that goes with it, seen by all machines.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // "m1:2,m2:2": so many on each.
  [[nodiscard]] std::string hosts(std::uint32_t on_each) const;
  // A value of TEST_MARK by which the processes of these jobs are found, wherever they run.
  [[nodiscard]] std::string mark() const;

  // heddle run --hosts ... `rest`, with a remote shell unless that names one, to be started where the launcher runs: on none of the machines, but reached by them.
  [[nodiscard]] std::vector<std::string> run(const std::string& hosts, const std::vector<std::string>& rest) const;
  // The same with another folder to begin in.
  [[nodiscard]] std::vector<std::string> run_in(const std::filesystem::path& folder, const std::string& hosts,
                                                const std::vector<std::string>& rest) const;
  // A command where the launcher runs.
  [[nodiscard]] std::vector<std::string> at_launcher(const std::filesystem::path& folder,
                                                     const std::vector<std::string>& command) const;
  [[nodiscard]] Command::Variables variables(const Command::Variables& more = {}) const;

  // --- of separate ones; machines are numbered from 1, 0 is the launcher's ---
  // A command there.
  [[nodiscard]] std::vector<std::string> at(std::uint32_t machine, const std::vector<std::string>& command) const;
  // The same as a program: `enter NUMBER COMMAND...`.
  [[nodiscard]] std::filesystem::path enter_program() const { return folder_ / "enter"; }
  // A remote shell for other people's launchers, which give it options, the machine's name and a line for its shell.
  [[nodiscard]] std::filesystem::path remote_shell() const { return folder_ / "rsh"; }
  // Processes there that have this name, as this process sees them.
  [[nodiscard]] std::vector<pid_t> processes(std::uint32_t machine, const std::string& name) const;
  // Runs the script there, as root; false where it fails.
  bool in(std::uint32_t machine, const std::string& script) const;
  // Every process there is killed.
  void kill(std::uint32_t machine) const;
  // The cable between the machine's e0, or e1, and the switch.
  void pull_cable(std::uint32_t machine, std::uint32_t network = 0) const { set_cable(machine, network, "down"); }
  void plug_cable(std::uint32_t machine, std::uint32_t network = 0) const { set_cable(machine, network, "up"); }

  // A process of the job that runs, as this process sees it; 0 where there is none.
  [[nodiscard]] pid_t process_of(int rank) const;
  // Processes of jobs of these machines that still live, by what they were started as.
  [[nodiscard]] std::vector<std::string> living() const;
  // The same when so much time has passed, or as soon as there is none.
  [[nodiscard]] std::vector<std::string> left_after(std::chrono::seconds limit) const;

 private:
  struct Machine {
    pid_t keeper = 0; // this process's child: the machine goes with it
    pid_t first = 0;  // the machine's own first process
  };

  Machines(Form form, std::uint32_t count);
  bool boot(std::uint32_t number, std::string& why);
  bool plug_in(std::string& why) const;
  void set_cable(std::uint32_t machine, std::uint32_t network, const std::string& state) const;
  [[nodiscard]] std::string enter(std::uint32_t machine) const; // the words of nsenter
  void write_shells() const;

  Form form_;
  std::uint32_t count_;
  std::filesystem::path folder_;
  std::vector<Machine> machines_; // the launcher's first; the switch last
};

} // namespace heddle::tests
