// Listens for partners whose compile has failed: until all partners are known to have begun a round, one may have given up while
// this process believes that the pattern stands.
#pragma once

#include "engine/engine.hpp"
#include "pattern/plan.hpp"

#include <heddle/error.hpp>

#include <cstdint>

namespace heddle::pattern {

class GiveUps {
 public:
  // Of the compile of that serial.
  GiveUps(engine::Engine& engine, Plan& plan, std::uint32_t serial) : engine_(engine), plan_(plan), serial_(serial) {}
  GiveUps(const GiveUps&) = delete; // messages are received into it
  GiveUps& operator=(const GiveUps&) = delete;

  void listen();
  // Marks those who have said so as lost. Whether anybody has since the last call.
  bool hear();
  void stop();
  [[nodiscard]] bool listening() const { return listening_; }
  // The gravest reason that was given; ok: none.
  [[nodiscard]] ErrorCode reason() const { return heard_; }
  // Once it has stopped: whether no message is under way any more.
  [[nodiscard]] bool wound_up();

 private:
  engine::Engine& engine_;
  Plan& plan_;
  const std::uint32_t serial_;
  bool listening_ = false;
  Request given_up_;
  ErrorCode because_{}; // what the last one said
  ErrorCode heard_{};
};

} // namespace heddle::pattern
