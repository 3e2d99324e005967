// The network of a fuzz target for the length of one run: declared first, so that it goes last. The fuzz program brings its own, in memory
// (tests/fuzz/kernel.hpp), and the input chooses how calls on its sockets go; elsewhere, as in the replay of the corpora, it is
// the system's, and what would have chosen is left out.
#pragma once

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

class Network {
 public:
  explicit Network(Input& input);
  ~Network(); // demands that all descriptors have been closed, where it can be known
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // From now on calls go as usual. In memory two seconds pass, so that whoever had to pause goes on.
  void behave();
  // A connection was reset or not accepted, or time passed in a leap: whoever did nothing wrong may have lost a connection.
  [[nodiscard]] bool has_disturbed() const;
};

} // namespace heddle::fuzz
