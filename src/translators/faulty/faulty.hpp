// A network on which things go wrong as planned, over one on which they do not. The same plan and the same calls give the
// same faults. What the boundary promises holds: a signalled command gets exactly one event, order where it is promised,
// memory of a small put is free when submit has taken it.
#pragma once

#include "translators/decorator.hpp"
#include "translators/faulty/dice.hpp"
#include "translators/faulty/fault_plan.hpp"
#include "translators/faulty/held_commands.hpp"
#include "translators/faulty/held_events.hpp"

#include <set>

namespace heddle::translators {

class Faulty final : public Decorator, private ir::Sleeping {
 public:
  Faulty(ir::Translator& inner, FaultPlan plan);

  [[nodiscard]] ir::Facets facets() override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  // What is held for the peer goes out first.
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  // Delays count calls of this.
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override { return held() == 0 && Decorator::drained(); }

  // From now on the peer cannot be reached: every command on it ends as peer_lost, and peer_failed comes once.
  void cut(ir::Peer peer);
  // From now on this process reaches nobody: every command ends as peer_lost, and no event of the network comes.
  void kill();

  [[nodiscard]] bool killed() const { return killed_; }
  [[nodiscard]] std::uint64_t commands_taken() const { return taken_; }
  // Commands and events that wait for their time.
  [[nodiscard]] std::size_t held() const { return commands_.size() + events_.size(); }

 private:
  // While something is held nobody may sleep, since only polls move it.
  bool announce_sleep(By by) override { return inner_sleeping_->announce_sleep(by) && held() == 0; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> due() override { return inner_sleeping_->due(); }
  void cancel_sleep() override { inner_sleeping_->cancel_sleep(); }
  void sleep(std::chrono::nanoseconds limit) override;
  Result<int> descriptor() override { return inner_sleeping_->descriptor(); }

  [[nodiscard]] bool lost(ir::Peer peer) const { return killed_ || cut_.contains(peer); }
  [[nodiscard]] std::uint64_t delay(double probability);
  bool take(const ir::Command& command);
  bool pass_on(const HeldCommand& held);
  void end(const ir::Command& command, ir::Status status);
  void hold(const ir::Event& event);
  void collect();

  ir::Sleeping* inner_sleeping_; // null: the network has none
  FaultPlan plan_;
  Dice dice_;
  HeldCommands commands_;
  HeldEvents events_;
  std::set<ir::Peer> cut_;
  std::set<ir::Peer> told_; // peers whose peer_failed has been given or waits
  bool killed_ = false;
  std::uint64_t taken_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t now_ = 0; // calls of poll
};

} // namespace heddle::translators
