#include "engine/schedule_queue.hpp"

namespace heddle::engine {

void ScheduleQueue::plan_engines() {
  if (facets_.paths == nullptr) return;
  const ir::Resources resources = facets_.paths->resources();
  if (resources.balances_itself) return;
  sending_ = receiving_ = peers_ = EngineTurns(resources.engines);
}

// All processes of a job that does the same everywhere talk to their peers in the same order. So what a process sends to its first peer
// by its first engine arrives at that engine of a peer whose others are free for other directions, without a word about it.
void ScheduleQueue::attached(ir::Peer peer) {
  if (peers_.several()) facets_.paths->choose_engine(peer, peers_.take());
}

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
