// Tells when processes of this machine end, whoever their parents are.
#pragma once

#include "base/descriptor.hpp"

#include <cstdint>
#include <map>
#include <span>

namespace heddle::base {

class ProcessWatch {
 public:
  ProcessWatch();

  // From now on, until as many calls of forget. One that has ended already is told of, too. Throws std::bad_alloc.
  void watch(std::int32_t process);
  void forget(std::int32_t process);

  // Processes that have ended and were not told of; returns how many. A system call.
  std::size_t take_ended(std::span<std::int32_t> processes);

  // Readable when there is something to take, but for processes that the system had no descriptor for: those are seen by
  // asking. -1: it had none even for this.
  [[nodiscard]] int descriptor() const { return poller_.number(); }

 private:
  struct Watched {
    std::uint32_t count = 0;
    Descriptor ending; // readable when it has ended; none: the system had no descriptor for it
    bool told = false;
  };

  void close(Watched& watched) const;

  Descriptor poller_;
  std::map<std::int32_t, Watched> watched_;
  std::size_t unseen_ = 0; // without a descriptor, and not told of
};

} // namespace heddle::base
