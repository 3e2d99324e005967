// Engines of one job over a loopback network, in one thread, progressed by the test.
#pragma once

#include "base/flight_recorder.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "onesided/one_sided_engine.hpp"
#include "tests/engine/shaped.hpp"
#include "tests/traffic/slowdown.hpp"
#include "translators/loopback/loopback.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tests {

inline engine::Limits usual_limits() {
  return {.eager_limit = 4096, .ring_bytes = 65536, .ring_memory = 1U << 24U, .chunk_bytes = 65536, .assist = true};
}

// TEST_SEED alone when it is set; otherwise `count` fixed seeds, a few of them under a sanitizer.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* text = std::getenv("TEST_SEED")) return {std::strtoull(text, nullptr, 0)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= (count + kSlowdown - 1) / kSlowdown; ++seed) all.push_back(seed);
  return all;
}

struct Node {
  base::FlightRecorder recorder{64};
  std::unique_ptr<Shaped> translator;
  std::unique_ptr<engine::ScheduleQueue> queue;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<onesided::OneSidedEngine> one_sided;

  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    for (const auto& figure : engine->figures())
      if (figure.name == name) return figure.value;
    std::abort();
  }
};

class Cluster {
 public:
  Cluster(std::uint32_t size, const engine::Limits& limits, const Shape& shape = {}, std::uint64_t seed = 1)
      : fabric_(size, shape.announcing ? translators::LoopbackFabric::Manner::announcing
                                       : translators::LoopbackFabric::Manner::connected),
        nodes_(size) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      Node& node = nodes_[rank];
      node.translator = std::make_unique<Shaped>(std::make_unique<translators::Loopback>(fabric_, ir::Peer{rank}),
                                                 shape, seed * 1000 + rank);
      node.queue = std::make_unique<engine::ScheduleQueue>(*node.translator);
      engine::ScheduleQueue* queue = node.queue.get();
      node.engine = *engine::Engine::create(rank, size, limits, {&queue, 1}, node.recorder);
      node.engine->set_contacts(std::vector<engine::Contact>(size));
      node.one_sided = std::make_unique<onesided::OneSidedEngine>(node.engine->services());
    }
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  Node& node(std::uint32_t rank) { return nodes_[rank]; }
  engine::Engine& operator[](std::uint32_t rank) { return *nodes_[rank].engine; }
  void kill(std::uint32_t rank) {
    fabric_.kill(ir::Peer{rank});
    killed_.push_back(rank);
  }
  [[nodiscard]] bool alive(std::uint32_t rank) const {
    return std::find(killed_.begin(), killed_.end(), rank) == killed_.end();
  }
  std::size_t progress(std::uint32_t rank) {
    if (!alive(rank)) return 0;
    nodes_[rank].translator->arrive(); // a network goes on by itself
    return nodes_[rank].engine->progress() + (nodes_[rank].translator->idle() ? 0 : 1);
  }
  std::size_t progress() {
    std::size_t done = 0;
    for (std::uint32_t rank = 0; rank < size(); ++rank) done += progress(rank);
    return done;
  }
  // Until nothing has happened for a while.
  void settle() {
    for (int quiet = 0; quiet < 300;) quiet = progress() == 0 ? quiet + 1 : 0;
  }

 private:
  translators::LoopbackFabric fabric_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> killed_;
};

} // namespace heddle::tests
