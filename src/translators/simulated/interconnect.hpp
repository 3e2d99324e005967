// The peers of one simulated job and the network between them, in virtual time. Commands become flows of the packet
// model, there and back; memory changes at the moment when the last byte has arrived. One thread.
//
//   put        data ->                    then, if signalled, <- acknowledgement
//   get        request ->                 <- data
//   atomics    request with operands ->   <- old value
//   group put  data, copied by switches -> then, if signalled, <- acknowledgements (multicast.cpp)
#pragma once

#include "ir/translator.hpp"
#include "sim/network_model.hpp"
#include "sim/packet_network.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace heddle::translators::simulated {

class Simulated;

// How a packet is to travel, as the initiating interface chooses: what a network does not know stays as it is.
struct Steering {
  std::uint32_t lid = 0;
  std::uint16_t send_engine = 0;
  std::uint16_t receive_engine = sim::kAnyEngine;
  std::uint16_t lane = 0;
};

class Interconnect final : private sim::Listener {
 public:
  // Peer r works on node nodes[r] of the network; several may share one. Outlives the translators.
  Interconnect(std::unique_ptr<sim::NetworkModel> network, std::vector<std::uint32_t> nodes);
  Interconnect(sim::PacketNetwork network, std::vector<std::uint32_t> nodes)
      : Interconnect(std::make_unique<sim::PacketNetwork>(std::move(network)), std::move(nodes)) {}
  Interconnect(const Interconnect&) = delete;
  Interconnect& operator=(const Interconnect&) = delete;
  ~Interconnect() override = default;

  [[nodiscard]] sim::NetworkModel& network() { return network_; }
  [[nodiscard]] const sim::NetworkModel& network() const { return network_; }
  [[nodiscard]] sim::Picoseconds now() const { return network_.now(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t node_of(ir::Peer peer) const { return nodes_[static_cast<std::uint32_t>(peer)]; }
  [[nodiscard]] bool has(ir::Peer peer) const { return member(peer) != nullptr; }

  // One event of the network; false when there is none to come.
  bool step() { return network_.step(); }
  // Everything under way arrives. Error: packets wait for each other in a cycle.
  Result<void> settle() { return network_.run(); }
  // The peer counts as touched at that time.
  void touch_at(ir::Peer peer, sim::Picoseconds time);
  // Peers that something has happened to since the last call: a write to their memory, an event, a timer.
  void take_touched(std::vector<std::uint32_t>& into);

  // The process is gone, as by a crash. Its interface still takes packets and drops them; the others are told after a while.
  void kill(ir::Peer peer);
  // The process leaves in good order, with nothing of its own under way; the others are told after a while.
  void depart(ir::Peer peer);

 private:
  friend class Simulated;
  enum class Leg : std::uint8_t { there, back };
  // A command under way.
  struct Flight {
    ir::Command command;
    ir::Peer from{};
    ir::Status status{};
    std::uint64_t value = 0;
    std::vector<std::byte> copy; // of memory that may change under way
    Leg leg{};
    bool holds_data = false; // in `copy`
    bool from_memory = false;
    std::vector<ir::GroupMember> group; // of a put to many
    std::size_t answers = 0;            // of members, still to come
  };
  enum class Alarm : std::uint64_t { touch, loss, departure, timeout, absence, hand_over };

  void join(Simulated& member);
  void leave(const Simulated& member);
  void carry(Simulated& from, const ir::Command& command);
  // The processor has written the command to its engine's queue.
  void hand_over(std::uint32_t flight);

  [[nodiscard]] Simulated* member(ir::Peer peer) const;
  void send(std::uint32_t flight, Simulated& from, ir::Peer to, std::uint64_t bytes, sim::Payload payload);
  void arrived_there(std::uint32_t flight);
  void arrived_back(std::uint32_t flight);
  void land(Flight& flight, Simulated& target);
  void finish(std::uint32_t flight, ir::Status status);
  std::uint32_t take_flight(Simulated& from, const ir::Command& command);
  void carry_to_group(Simulated& from, const ir::Command& command, const std::vector<ir::GroupMember>& members);
  void arrived_at_group(std::uint32_t flight, std::uint32_t node);
  void land_at_member(Flight& flight, const ir::GroupMember& member, Simulated& target);
  void member_answered(std::uint32_t flight, ir::Status status);
  void touch(ir::Peer peer);
  void end_membership(ir::Peer peer, Alarm news);
  void tell_all(ir::EventKind news, ir::Peer peer);
  // How a command on one that is not there ends.
  [[nodiscard]] ir::Status absence_of(ir::Peer peer) const;
  void set_alarm(sim::Picoseconds time, Alarm alarm, std::uint64_t number);

  void departed(const sim::Flow&) override {}
  [[nodiscard]] bool hears_departures() const override { return false; }
  void arrived(const sim::Flow& flow) override;
  void timer(std::uint64_t cookie) override;

  std::unique_ptr<sim::NetworkModel> owned_network_;
  sim::NetworkModel& network_;
  std::vector<std::uint32_t> nodes_;
  std::vector<Simulated*> members_; // null: not there, or gone
  std::vector<bool> has_left_;
  std::deque<Flight> flights_;
  std::vector<std::uint32_t> free_flights_;
  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_;
};

} // namespace heddle::translators::simulated
