// Any text as a trace, replayed to whoever submits commands of its and of other kinds: it ends with a difference or without,
// and every signalled command gets its event.
#include "translators/trace/replay.hpp"

#include "base/fuzz_input.hpp"
#include "ir/text.hpp"
#include "translators/loopback/loopback.hpp"

namespace heddle::fuzz {

void replay(Input& input) {
  using namespace translators;
  auto records = parse_trace(input.text());
  if (!records) return demand_message(records.error());
  const std::vector<TraceRecord> kept = *records;
  LoopbackFabric fabric(4);
  Loopback inner(fabric, ir::Peer{0});
  Replay replay(inner, std::move(*records));
  std::array<ir::Event, 8> events;
  for (const TraceRecord& record : kept) {
    if (record.kind == TraceRecord::Kind::event) {
      static_cast<void>(replay.poll(events));
      continue;
    }
    const auto command = ir::parse_command(record.text);
    if (command) static_cast<void>(replay.submit({&*command, 1}));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) static_cast<void>(replay.poll(events));
  if (const auto done = replay.finished(); !done) demand_message(done.error());
}

} // namespace heddle::fuzz
