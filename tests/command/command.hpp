// A command started by a test: its output, its exit status, signals to it. Killed when the object goes.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"

namespace heddle::tests {

// The command and all it starts write stdout and stderr into one pipe, so the end of the output means that every process
// which inherited it is gone: that is how tests see that nothing is left without looking for it.
class Command {
 public:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit Command(const std::vector<std::string>& arguments, const Variables& variables = {});
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // The next line without its newline; empty at the end of the output.
  std::string line();
  // Everything until all writers are gone.
  std::string rest();
  // Waits for the command itself; 128 + signal where it was killed.
  int status();
  void signal(int number) const;
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  bool fill();

  pid_t id_ = -1;
  base::Descriptor output_;
  std::string pending_;
};

} // namespace heddle::tests
