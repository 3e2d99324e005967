// The fluid model: flows over a fabric at max-min fair rates instead of as packets. For sweeps of thousands of
// cases: its cost follows the number of flows, not of bytes. A NetworkModel as PacketNetwork is, so that either can serve.
//
// What it leaves out: packets, hence the turns that flows take at switches (fair by input, not by flow), head-of-line blocking,
// full buffers and deadlock, and the last packet's way through store-and-forward switches. docs/simulator.md says where the two agree.
// Rates are floating point: the same on one compiler, not to the picosecond on all.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/error.hpp"
#include "sim/event_queue.hpp"
#include "sim/fabric.hpp"
#include "sim/flow.hpp"
#include "sim/max_min.hpp"
#include "sim/network_model.hpp"
#include "sim/packet_state.hpp"

namespace heddle::sim {

class FluidNetwork final : public NetworkModel {
 public:
  // Error where the fabric cannot work, as for PacketNetwork.
  static Result<FluidNetwork> make(Fabric fabric);

  [[nodiscard]] const Fabric& fabric() const override { return fabric_; }
  [[nodiscard]] const Wiring& wiring() const override { return wiring_; }
  [[nodiscard]] Picoseconds now() const override { return now_; }
  void listen(Listener* listener) override { listener_ = listener; }
  // Engines only: links are shared at every moment, and belong to nobody.
  void record(Recorder* recorder) override { recorder_ = recorder; }

  // As PacketNetwork's; flows with a route are refused.
  Result<void> submit(const Flow& flow) override;
  void at(Picoseconds time, std::uint64_t cookie) override;
  bool step() override;
  void run_until(Picoseconds time);
  Result<void> run() override; // never an error: nothing waits for a buffer

  [[nodiscard]] std::uint64_t history() const override { return history_; }
  [[nodiscard]] std::uint64_t packet_hops() const override { return hops_; }
  [[nodiscard]] std::string name_of(Span::Part part, std::uint32_t index) const override {
    return name_of_part(fabric_, part, index);
  }
  [[nodiscard]] std::string find_deadlock() const override { return ""; }

  [[nodiscard]] std::uint64_t solves() const { return solves_; }

 private:
  enum class What : std::uint8_t { engine, finished, arrived, timer };
  static constexpr unsigned kIndexBits = 30;

  // A flow that moves; numbered as in rates_.
  struct Stream {
    std::uint32_t flow = 0;
    std::uint32_t engine = 0;
    double left = 0; // bytes, at `since`
    double rate = 0; // bytes per picosecond
    Picoseconds since{0};
    Picoseconds finish{0};
    Picoseconds begun{0};
    Picoseconds latency{0};     // from the last byte out of memory to the notice
    std::uint32_t receiver = 0; // receive engine
  };
  struct Sender {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    bool busy = false;
  };

  FluidNetwork(Fabric fabric, Wiring wiring);
  std::uint32_t add_stage(const Stage& stage);
  void push(Picoseconds time, What what, std::uint32_t index) {
    queue_.push(time, static_cast<std::uint32_t>(what) << kIndexBits | index);
  }
  bool prepare();
  void settle();
  void start(std::uint32_t engine);
  void begin(std::uint32_t engine);
  void finish(std::uint32_t stream);
  // The way of a flow: its resources go to used_.
  struct Way {
    Picoseconds latency{0};
    std::uint32_t receiver = 0;
  };
  Way follow(const Flow& flow);

  Fabric fabric_;
  Wiring wiring_;
  Picoseconds now_{0};
  EventQueue queue_;
  MaxMin rates_;
  Listener* listener_ = nullptr;
  Recorder* recorder_ = nullptr;
  std::uint64_t solves_ = 0;
  std::uint64_t history_ = 0;
  std::uint64_t hops_ = 0;
  // Resources of rates_, kNone where there is no limit.
  std::vector<std::uint32_t> link_resource_;
  std::vector<std::uint32_t> send_resource_;    // [node * send_engines + engine]
  std::vector<std::uint32_t> receive_resource_; // [node * ports + port]
  std::vector<std::uint32_t> read_resource_;    // [node]
  std::vector<std::uint32_t> write_resource_;   // [node]
  std::vector<std::uint32_t> used_;             // by the flow at hand
  std::vector<Sender> senders_;
  std::vector<Stream> streams_;
  Pool<Sending> flows_;
  Pool<Timer> timers_;
};

} // namespace heddle::sim
