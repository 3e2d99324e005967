// What a test remembers of a run: when each flow departed and arrived, by cookie.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "sim/packet_network.hpp"

namespace heddle::sim {

class Diary : public Listener {
 public:
  explicit Diary(NetworkModel& network) : network_(network) { network.listen(this); }
  void departed(const Flow& flow) override { departed_[flow.cookie] = network_.now(); }
  void arrived(const Flow& flow) override {
    arrived_[flow.cookie] = network_.now();
    order_.push_back(flow.cookie);
  }
  void timer(std::uint64_t cookie) override { timers_.push_back(cookie); }

  std::map<std::uint64_t, Picoseconds> departed_;
  std::map<std::uint64_t, Picoseconds> arrived_;
  std::vector<std::uint64_t> order_; // of arrival
  std::vector<std::uint64_t> timers_;

 private:
  NetworkModel& network_;
};

// Every node sends to nodes drawn from a seed, and sends again as soon as it has: traffic that never lets up.
class Saturation : public Listener {
 public:
  Saturation(PacketNetwork& network, std::uint64_t seed) : network_(network), random_(seed) {
    network.listen(this);
    for (std::uint32_t node = 0; node < network.fabric().nodes; ++node) {
      for (int ahead = 0; ahead < 2; ++ahead) send(node);
    }
  }
  void departed(const Flow& flow) override { send(flow.source); }
  void arrived(const Flow&) override { ++arrived_; }
  void timer(std::uint64_t) override {}
  std::uint64_t arrived_ = 0;

 private:
  void send(std::uint32_t source) {
    const auto target = static_cast<std::uint32_t>(random_() % network_.fabric().nodes);
    const auto lane = static_cast<std::uint16_t>(target % network_.fabric().packets.lanes);
    const auto sent =
        network_.submit({.source = source, .target = target, .bytes = network_.fabric().packets.mtu, .lane = lane});
    if (!sent) std::abort();
  }

  PacketNetwork& network_;
  std::mt19937_64 random_;
};

} // namespace heddle::sim
