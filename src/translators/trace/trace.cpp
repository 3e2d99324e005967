#include "translators/trace/trace.hpp"

#include "ir/text.hpp"

#include <utility>

namespace heddle::translators {

std::size_t Trace::submit(std::span<const ir::Command> commands) {
  const std::size_t taken = inner().submit(commands);
  for (const ir::Command& command : commands.first(taken))
    record(TraceRecord::Kind::command, command.peer, ir::to_text(command));
  return taken;
}

std::size_t Trace::poll(std::span<ir::Event> events) {
  const std::size_t count = inner().poll(events);
  ++polls_;
  for (const ir::Event& event : events.first(count)) record(TraceRecord::Kind::event, event.peer, ir::to_text(event));
  return count;
}

void Trace::record(TraceRecord::Kind kind, ir::Peer peer, std::string text) {
  sink_({.sequence = next_++, .poll = polls_, .kind = kind, .peer = peer, .text = std::move(text)});
}

} // namespace heddle::translators
