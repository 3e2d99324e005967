// What wakes a process that sleeps on descriptors, because it waits for other things, too: a pipe whose writing end its peers
// open by the owner's number of it, as they map its segment. The futex of sleep_flag.hpp is quicker where nothing else is waited for.
#pragma once

#include "base/descriptor.hpp"

#include <heddle/error.hpp>

#include <cstdint>

namespace heddle::segments {

// As its owner publishes it.
struct BellName {
  std::int32_t descriptor = -1; // of the writing end, in the owner; -1: there is none
  std::uint64_t inode = 0;
};

class Bell {
 public:
  static Result<Bell> create();

  [[nodiscard]] int descriptor() const { return reading_.number(); } // readable once it has been rung
  [[nodiscard]] const BellName& name() const { return name_; }
  void quiet() const; // not readable any more, until it is rung again

 private:
  base::Descriptor reading_;
  base::Descriptor writing_;
  BellName name_;
};

// A peer's, opened when it is first rung.
class PeerBell {
 public:
  // Nothing happens where the process is gone.
  void ring(std::int32_t process, const BellName& name);

 private:
  base::Descriptor writing_;
};

} // namespace heddle::segments
