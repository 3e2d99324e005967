#include "schedule/queue.hpp"

namespace heddle::schedule {

void Queue::hold(const ir::Command& command) {
  held_.push_back(command);
  ++held_count_;
}

void Queue::flush() {
  while (!held_.empty()) {
    if (translator_.submit({&held_.front(), 1}) == 0) return;
    outstanding_ += ir::has(held_.front().flags, ir::Flags::signalled) ? 1U : 0U;
    held_.pop_front();
    --held_count_;
  }
}

} // namespace heddle::schedule
