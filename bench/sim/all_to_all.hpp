// The pattern that all benchmarks of the simulator run: every node sends to every other, at distance 1 first, then 2 ...,
// each as soon as the memory of an earlier one is free; `at_once` of them are handed over by each node at any time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sim/flow.hpp"

namespace heddle::bench {

// Over a packet or a fluid network.
template <typename Model>
class AllToAll : public sim::Listener {
 public:
  AllToAll(Model& model, std::uint64_t bytes, std::uint64_t at_once) : model_(model), bytes_(bytes), at_once_(at_once) {
    model.listen(this);
    for (std::uint64_t distance = 1; distance <= at_once && distance < nodes(); ++distance)
      for (std::uint32_t node = 0; node < nodes(); ++node) send(node, distance);
  }
  void departed(const sim::Flow& flow) override {
    if (flow.cookie + at_once_ < nodes()) send(flow.source, flow.cookie + at_once_);
  }
  void arrived(const sim::Flow&) override { ++arrived_; }
  void timer(std::uint64_t) override {}

  [[nodiscard]] bool complete() const { return arrived_ == std::uint64_t{nodes()} * (nodes() - 1); }

 private:
  [[nodiscard]] std::uint32_t nodes() const { return model_.fabric().nodes; }
  void send(std::uint32_t source, std::uint64_t distance) {
    const auto target = static_cast<std::uint32_t>((source + distance) % nodes());
    const auto sent = model_.submit({.source = source, .target = target, .bytes = bytes_, .cookie = distance});
    if (sent) return;
    std::fprintf(stderr, "all-to-all: %s\n", sent.error().message().c_str());
    std::exit(1);
  }

  Model& model_;
  std::uint64_t bytes_;
  std::uint64_t at_once_;
  std::uint64_t arrived_ = 0;
};

} // namespace heddle::bench
