// The packet model: flows over a fabric in virtual time. Physics only: it moves bytes and says when; what the bytes
// mean (commands, acknowledgements, reads) is the business of whoever submits them.
//
// Time moves only inside run_*; everything that happens is a function of the fabric and of the calls made.
// Nothing is dropped. Flows of one (send engine, target, path, lane) arrive in the order they were submitted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/error.hpp"
#include "sim/event_queue.hpp"
#include "sim/fabric.hpp"
#include "sim/flow.hpp"
#include "sim/network_model.hpp"
#include "sim/packet_state.hpp"

namespace heddle::sim {

struct LinkCounters {
  std::uint64_t bytes = 0; // headers included
  std::uint64_t packets = 0;
  Picoseconds busy{0};
  std::uint32_t largest_queue = 0; // bytes of packets that waited at its end, in the fullest lane
};

class PacketNetwork final : public NetworkModel {
 public:
  // Error where the fabric cannot work (wire, check_tables).
  static Result<PacketNetwork> make(Fabric fabric);

  [[nodiscard]] const Fabric& fabric() const override { return fabric_; }
  [[nodiscard]] const Wiring& wiring() const override { return wiring_; }
  [[nodiscard]] Picoseconds now() const override { return now_; }

  void listen(Listener* listener) override {
    listener_ = listener;
    tells_departures_ = listener != nullptr && listener->hears_departures();
  }
  void record(Recorder* recorder) override { recorder_ = recorder; }

  // Ports to take at each switch from `source` to `target`; the answer is for Flow::route.
  Result<std::uint32_t> add_route(std::uint32_t source, std::uint32_t target, std::vector<std::uint16_t> ports);

  Result<void> submit(const Flow& flow) override;
  void at(Picoseconds time, std::uint64_t cookie) override;

  bool step() override;
  // All events up to and including `time`, which is then now.
  // Error of run_until and run: packets wait for each other in a cycle; it names the buffers (deadlock.cpp).
  Result<void> run_until(Picoseconds time);
  Result<void> run() override;

  [[nodiscard]] bool idle() const { return queue_.empty(); }
  [[nodiscard]] std::uint64_t in_flight() const { return packets_.live(); } // packets
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t packet_hops() const override;
  [[nodiscard]] std::uint64_t history() const override { return history_; }
  [[nodiscard]] LinkCounters counters(std::uint32_t link) const { return counters_[link]; }
  [[nodiscard]] std::string name_of(Span::Part part, std::uint32_t index) const override {
    return name_of_part(fabric_, part, index);
  }

  // The cycle of packets that wait for each other, if there is one; empty otherwise.
  [[nodiscard]] std::string find_deadlock() const override;

 private:
  enum class What : std::uint8_t { buffered, sent, received, credit, engine, departed, arrived, timer };

  struct Route {
    std::uint32_t source;
    std::uint32_t target;
    std::vector<std::uint16_t> ports;
  };

  explicit PacketNetwork(Fabric fabric, Wiring wiring);
  void lay_out();
  Result<void> check_route(const Flow& flow) const;

  void push(Picoseconds time, What what, std::uint32_t index) {
    queue_.push(time, static_cast<std::uint32_t>(what) << kIndexBits | index);
  }
  void handle(What what, std::uint32_t index);

  void run_engine(std::uint32_t engine);
  void wake_engine(std::uint32_t engine, Picoseconds time);
  void emit_packet(std::uint32_t engine);
  void buffered(std::uint32_t packet);
  void request(std::uint32_t buffer);
  void arbitrate(std::uint32_t link);
  void start(std::uint32_t link, std::uint32_t channel);
  void forward(std::uint32_t link, std::uint32_t channel, std::uint32_t packet, Picoseconds end);
  void sent(std::uint32_t link);
  void received(std::uint32_t packet);
  void depart(std::uint32_t flow);
  void arrive(std::uint32_t flow);
  void fire(std::uint32_t timer);

  [[nodiscard]] Hop next_hop(std::uint32_t at, const Packet& packet) const;
  [[nodiscard]] bool is_busy(const LinkState& link) const { return link.busy && (link.announced || now_ < link.end); }
  bool still_busy(std::uint32_t link);
  [[nodiscard]] bool is_engine(std::uint32_t buffer) const { return buffer >= channels_.size(); }
  Engine& engine_of(std::uint32_t buffer) { return engines_[buffer - channels_.size()]; }
  void leave_link(LinkState& link);
  void announce(std::uint32_t link);
  bool has_credit(Channel& channel, std::uint32_t bytes);
  void await_credit(std::uint32_t channel, std::uint32_t bytes);
  void give_credit(std::uint32_t channel, Picoseconds time, std::uint32_t bytes);
  [[nodiscard]] std::uint32_t waits_for(std::uint32_t buffer) const;
  [[nodiscard]] std::string name_of_buffer(std::uint32_t buffer) const;

  static constexpr unsigned kIndexBits = 29;

  Fabric fabric_;
  Wiring wiring_;
  std::uint32_t lanes_ = 1;
  std::vector<Route> routes_;

  Picoseconds now_{0};
  EventQueue queue_;
  std::uint64_t history_ = 0;
  std::uint64_t events_ = 0;
  Listener* listener_ = nullptr;
  bool tells_departures_ = false;
  Recorder* recorder_ = nullptr;

  std::vector<LinkState> links_;
  std::vector<LinkCounters> counters_;
  std::vector<Channel> channels_;          // [link * lanes + lane]: credits, and who waits to send there
  std::vector<Buffer> buffers_;            // [link * lanes + lane] at its end; then one per send engine
  std::vector<Engine> engines_;            // [node * send_engines + engine]
  std::vector<Picoseconds> receiver_free_; // [node * ports + port]
  std::vector<Memory> memories_;           // [node]
  Pool<Packet> packets_;
  Pool<Sending> flows_;
  Pool<CreditReturn> returns_;
  Pool<Timer> timers_;
};

} // namespace heddle::sim
