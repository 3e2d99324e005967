// What the parts of one-sided operations share.
#pragma once

#include "engine/engine_state.hpp"
#include "engine/messages/outbox.hpp"
#include "engine/onesided/known_area.hpp"

#include <memory>
#include <span>

namespace heddle::engine {

// What they need of the engine around them.
class OneSidedHost {
 public:
  virtual ~OneSidedHost() = default;
  // As ConnectionHost::connection_to.
  virtual Connection* connection_to(std::uint32_t rank) = 0;
  // Makes the connection ready to be written to, unless it is or that is under way.
  virtual void connect(Connection& connection) = 0;
  // Control records wait on the connection: sees to it that they leave.
  virtual void pump_later(Connection& connection) = 0;
  // It has died or left: nothing that it began will go on.
  [[nodiscard]] virtual bool has_ended(std::uint32_t rank) const = 0;
  [[nodiscard]] virtual std::uint64_t cut_off() const = 0; // peers that may live, with the connection to them lost
  [[nodiscard]] virtual std::uint64_t gone() const = 0;    // processes that have died, left or are cut off
  [[nodiscard]] virtual std::span<const std::unique_ptr<Port>> ports() const = 0;
};

struct OneSidedCommon {
  EngineState& engine;
  Outbox& outbox;
  OneSidedHost& host;
  KnownAreas known{};

  template <typename Body>
  void tell(Connection& connection, RecordKind kind, const Body& body) {
    outbox.write_control(connection, kind, body);
    host.pump_later(connection);
  }
};

} // namespace heddle::engine
