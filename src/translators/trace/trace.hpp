// Records every command that the inner translator takes and every event that it gives. Changes nothing on the way.
// Not recorded: the contents of memory, and the calls that are not commands (allocate, attach, ...).
#pragma once

#include "translators/decorator.hpp"
#include "translators/trace/record.hpp"

#include <functional>

namespace heddle::translators {

class Trace final : public Decorator {
 public:
  // Called with each record, in order, from submit and poll.
  using Sink = std::function<void(const TraceRecord& record)>;

  Trace(ir::Translator& inner, Sink sink) : Decorator(inner), sink_(std::move(sink)) {}
  // Appends to `records`, which outlives this.
  Trace(ir::Translator& inner, std::vector<TraceRecord>& records)
      : Trace(inner, [&records](const TraceRecord& record) { records.push_back(record); }) {}

  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;

 private:
  void record(TraceRecord::Kind kind, ir::Peer peer, std::string text);

  Sink sink_;
  std::uint64_t next_ = 0;
  std::uint64_t polls_ = 0;
};

} // namespace heddle::translators
