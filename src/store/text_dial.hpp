// How a process comes to somebody who speaks in text (text_line.hpp), and looks there at what others are to change.
#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"

#include <heddle/error.hpp>

#include <chrono>
#include <string>

namespace heddle::store {

// Connects to HOST:PORT, by each of the host's addresses until one answers, or to the path of a unix socket. store_failed where nobody
// listens, timed_out at the deadline; the fact does not name the place.
Result<base::Descriptor> dial_text(const std::string& place, base::Deadline deadline);

// Pauses between two looks, where nobody tells of a change: short at first.
class Looks {
 public:
  explicit Looks(base::Deadline deadline) : deadline_(deadline) {}
  // False where the deadline would come first.
  bool pause();

 private:
  base::Deadline deadline_;
  std::chrono::microseconds next_{200};
};

} // namespace heddle::store
