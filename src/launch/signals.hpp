// The signals that a launcher handles, as something to wait for.
#pragma once

#include "base/descriptor.hpp"

#include <csignal>
#include <optional>

namespace heddle::launch {

// Blocks the signals that the launcher handles and makes them readable; the old mask comes back at the end. Where SIGCHLD is
// ignored, as some parents hand it down, the system would collect the processes itself and nobody would hear of their ends.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  [[nodiscard]] const sigset_t& before() const { return before_; }

  // The next that has come; nothing: none has.
  [[nodiscard]] std::optional<int> next() const;

 private:
  sigset_t before_{};
  struct sigaction child_before_{};
  base::Descriptor descriptor_;
};

} // namespace heddle::launch
