#include "translators/trace/replay.hpp"

#include "ir/text.hpp"

#include <algorithm>

namespace heddle::translators {

std::size_t Replay::submit(std::span<const ir::Command> commands) {
  std::size_t taken = 0;
  for (const ir::Command& command : commands) {
    const bool event_first = next_ < records_.size() && records_[next_].kind == TraceRecord::Kind::event;
    if (!difference_ && event_first) return taken;
    ++taken;
    if (ir::has(command.flags, ir::Flags::signalled)) awaited_.push_back({command.peer, command.cookie});
    if (!difference_ && matches(command)) ++next_;
    if (difference_) give_up();
  }
  return taken;
}

bool Replay::matches(const ir::Command& command) {
  const std::string now = ir::to_text(command);
  if (next_ < records_.size() && records_[next_].text == now) return true;
  const std::string then = next_ < records_.size() ? "'" + records_[next_].text + "'" : "nothing more";
  difference_ =
      Error{.code = ErrorCode::bad_argument,
            .fact = "record " + std::to_string(next_) + " of the trace is " + then + ", now it is '" + now + "'",
            .peer = static_cast<std::int64_t>(command.peer)};
  return false;
}

void Replay::give_up() {
  for (const auto& [peer, cookie] : awaited_)
    failed_.push({.kind = ir::EventKind::completed, .status = ir::Status::failed, .peer = peer, .cookie = cookie});
  awaited_.clear();
}

std::size_t Replay::poll(std::span<ir::Event> events) {
  ++polls_;
  std::size_t count = 0;
  while (!difference_ && count < events.size() && next_ < records_.size()) {
    const TraceRecord& record = records_[next_];
    if (record.kind != TraceRecord::Kind::event || record.poll > polls_) break;
    auto event = ir::parse_event(record.text);
    if (!event) {
      difference_ = event.error();
      give_up();
      break;
    }
    const auto ended = std::find(awaited_.begin(), awaited_.end(), std::pair(event->peer, event->cookie));
    if (event->kind == ir::EventKind::completed && ended != awaited_.end()) awaited_.erase(ended);
    events[count++] = *event;
    ++next_;
  }
  return count + failed_.pop(events.subspan(count));
}

Result<void> Replay::finished() const {
  if (difference_) return std::unexpected(*difference_);
  if (next_ == records_.size()) return {};
  return std::unexpected(Error{
      .code = ErrorCode::bad_argument,
      .fact = "record " + std::to_string(next_) + " of the trace is '" + records_[next_].text + "', now nothing came",
      .peer = static_cast<std::int64_t>(records_[next_].peer)});
}

} // namespace heddle::translators
