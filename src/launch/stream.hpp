// Text on its way to standard output or error, for a process that has others to look after: whoever takes nothing keeps it from nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace heddle::launch {

class Stream {
 public:
  explicit Stream(int descriptor);

  void add(std::string_view text) {
    if (!closed_) text_ += text;
  }
  // Writes what can be written; between two parts it waits for so long.
  void write(int wait_ms = 0);
  [[nodiscard]] std::size_t waiting() const { return text_.size(); }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // Nobody reads it any more.
  [[nodiscard]] bool closed() const { return closed_; }
  // Why, where it is more than that its reader has gone: an errno, or 0.
  [[nodiscard]] int problem() const { return problem_; }
  // Where it has taken nothing for long, it is taken for closed.
  void give_up_if_stuck();

 private:
  // As write(2), but that it says EAGAIN instead of waiting, where the system can.
  [[nodiscard]] std::ptrdiff_t write_some(std::string_view text) const;

  int descriptor_;
  bool shared_; // others may fill it between a look and a write
  std::string text_;
  bool closed_ = false;
  int problem_ = 0;
  base::Deadline stuck_since_{}; // it takes nothing; only while there is text
};

} // namespace heddle::launch
