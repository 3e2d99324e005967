// A protocol of another room that uses the engine's connections beside its messages, and what the engine gives it for that. What comes in
// for it, it takes by its rows (handlers.hpp).
#pragma once

#include "engine/connection/connection.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace heddle::engine {

class EngineState;
class Handlers;
class RecordWriter;

class Protocol {
 public:
  // Called while it is busy. Returns how much was done.
  virtual std::size_t progress() = 0;
  // Something has to be tried again, and no event will say when.
  [[nodiscard]] virtual bool tries_again() const = 0;
  // What waits, a line each.
  [[nodiscard]] virtual std::string waiting_for() = 0;

 protected:
  ~Protocol() = default;
};

class ProtocolHost {
 public:
  virtual ~ProtocolHost() = default;
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

// All of it outlives the protocol.
struct Services {
  EngineState& state;
  RecordWriter& record_writer;
  ProtocolHost& host;
  Handlers& handlers;
};

} // namespace heddle::engine
