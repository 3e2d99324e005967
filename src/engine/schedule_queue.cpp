#include "engine/schedule_queue.hpp"

namespace heddle::engine {

void ScheduleQueue::hold(const ir::Command& command) {
  held_.push_back(command);
  ++held_count_;
}

void ScheduleQueue::flush() {
  while (!held_.empty()) {
    if (translator_.submit({&held_.front(), 1}) == 0) return;
    outstanding_ += ir::has(held_.front().flags, ir::Flags::signalled) ? 1U : 0U;
    held_.pop_front();
    --held_count_;
  }
}

} // namespace heddle::engine
