// The one descriptor by which a program's own event loop hears of everything that a context waits for: its networks, the store, and
// the time at which something has to be tried again.
#pragma once

#include "base/descriptor.hpp"
#include "ir/facets.hpp"

#include <heddle/error.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace heddle::progress {

class LoopDescriptor {
 public:
  // `store` is -1 where it has none.
  static Result<LoopDescriptor> create(std::span<ir::Sleeping* const> networks, int store);

  [[nodiscard]] int number() const { return poller_.number(); }
  // Readable from now on when something arrives. False: a network cannot promise that, so that the time must be short.
  bool arm();
  // How soon a network wants to be polled although nothing arrives.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> due() const;
  // And at the latest after that time; none: no matter when.
  void set_timer(std::optional<std::chrono::nanoseconds> after) const;
  // Watches that one no more.
  void forget(int descriptor) const;
  // Nothing is awaited; what has made it readable is forgotten.
  void disarm();

 private:
  std::vector<ir::Sleeping*> networks_;
  base::Descriptor poller_;
  base::Descriptor timer_;
};

} // namespace heddle::progress
