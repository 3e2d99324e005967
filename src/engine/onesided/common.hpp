// What the parts of one-sided operations share.
#pragma once

#include "engine/core.hpp"
#include "engine/messages/outbox.hpp"
#include "engine/onesided/known_area.hpp"

#include <memory>
#include <span>

namespace heddle::engine {

// What they need of the engine around them.
class OneSidedHost {
 public:
  virtual ~OneSidedHost() = default;
  // As LinkHost::link_for.
  virtual Link* link_for(std::uint32_t rank) = 0;
  // Makes the link ready to be written to, unless it is or that is under way.
  virtual void connect(Link& link) = 0;
  // Control records wait on the link: sees to it that they leave.
  virtual void pump_later(Link& link) = 0;
  // It has died or left: nothing that it began will go on.
  [[nodiscard]] virtual bool has_ended(std::uint32_t rank) const = 0;
  [[nodiscard]] virtual std::uint64_t cut_off() const = 0; // peers that may live, with the connection to them lost
  [[nodiscard]] virtual std::uint64_t gone() const = 0;    // processes that have died, left or are cut off
  [[nodiscard]] virtual std::span<const std::unique_ptr<Port>> ports() const = 0;
};

struct OneSidedCommon {
  Core& core;
  Outbox& outbox;
  OneSidedHost& host;
  KnownAreas known{};

  template <typename Body>
  void tell(Link& link, RecordKind kind, const Body& body) {
    outbox.write_control(link, kind, body);
    host.pump_later(link);
  }
};

} // namespace heddle::engine
