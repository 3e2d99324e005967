// Running a command of an MPI program, over Heddle or as it is: what is set for it, and what is known of it afterwards.
#pragma once

#include "heddle/error.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {

using Variables = std::vector<std::pair<std::string, std::string>>;

// A file below the folders for libraries, such as "libfabric/libheddle-fi.so", beside this program where it was built or installed.
std::optional<std::string> find_library(const std::string& name);
// The folder of libheddle-fi.so and libheddle-mpi-times.so.
std::optional<std::string> find_provider();
// A folder below libexec/heddle, beside this program as well.
std::optional<std::string> find_folder(const std::string& name);

// What an MPI needs to run over Heddle; `via` may be empty. What the user has set of it stays: for Open MPI, that it may start more processes
// than there are cores.
Variables variables_for(const std::string& via, const std::string& provider);
// What it needs to run at all, over whatever.
Variables variables_to_start();
// Environment variables of the other machines' processes: Open MPI passes only those on that it is told to.
void pass_on(Variables& variables, const std::vector<std::string>& command);

// How many processes a command of an MPI's launcher starts, where it says so and all are started here.
std::optional<std::size_t> processes_of(const std::vector<std::string>& command);

// In single quotes.
std::string quoted_for_shell(const std::string& text);

// A file for the program's processes to note something in: gone with the object.
class Register {
 public:
  Register();
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;
  ~Register();
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const;

 private:
  std::string path_;
  bool made_ = false;
};
Error no_register();

// Waits for the command. 128 + signal where it was killed, 127 where it could not be started. `output` takes what it prints, unless it is
// empty; `folder` is where it runs, unless that is empty.
struct Started {
  std::vector<std::string> command;
  Variables variables;
  std::string output;
  std::string folder;
};
int run_command(const Started& started);
// The signal that this process was asked to end by while a command ran, or 0.
int asked_to_end();

} // namespace heddle::tool
