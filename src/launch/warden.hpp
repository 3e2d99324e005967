// Ends what a crew has started when the process that holds the crew is killed: of its children the system ends those alone that it
// started itself, not what these have started.
#pragma once

#include <sys/types.h>

#include <span>

#include "base/descriptor.hpp"

namespace heddle::launch {

class Warden {
 public:
  Warden() = default;
  Warden(const Warden&) = delete;
  Warden& operator=(const Warden&) = delete;
  ~Warden();

  // These groups of processes, once. Where the system has no process or descriptor left for it, there is none.
  void watch_over(std::span<const pid_t> groups);
  // The group has ended, and its number may be used again.
  void forget(pid_t group) const;

 private:
  pid_t process_ = 0;
  base::Descriptor line_; // to it; its end is this process's end
};

} // namespace heddle::launch
