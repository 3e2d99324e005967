// What the parts of one-sided operations share.
#pragma once

#include "engine/engine_state.hpp"
#include "engine/protocol.hpp"
#include "engine/rings/record_writer.hpp"
#include "onesided/areas/known_area.hpp"
#include "onesided/work_list.hpp"

namespace heddle::onesided {

using engine::CookieKind;
using engine::EngineState;
using engine::Lead;
using engine::Port;
using engine::RecordKind;
using engine::RecordWriter;
using engine::ScheduleQueue;

struct Common {
  EngineState& engine;
  RecordWriter& record_writer;
  engine::ProtocolHost& host;
  KnownAreas known{};
  WorkList work_list{};

  template <typename Body>
  void tell(Connection& connection, RecordKind kind, const Body& body) {
    record_writer.write_control(connection, kind, body);
    host.pump_later(connection);
  }
  // The area's key no longer holds, or its memory cannot be entered any more. May be said in the middle of anything.
  void closed(KnownArea& area) { work_list.add(Closed{&area}); }
};

} // namespace heddle::onesided
