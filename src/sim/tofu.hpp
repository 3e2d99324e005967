// Simulated Tofu: a torus of X x Y x Z groups of 2 x 3 x 2 nodes (axes A, B, C). Each node has a router with ten links (two
// directions each of X, Y, Z and B; one each of A and C) and several engines, each with a way of its own into the router and out.
// The way of a packet is computed: dimension after dimension, X Y Z A C B, the shorter way round.
#pragma once

#include <array>
#include <cstdint>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

// Numbers nodes with C fastest, then B, A, Z, Y, X.
struct TofuShape {
  std::array<std::uint32_t, 6> size{1, 1, 1, 2, 3, 2}; // X Y Z A B C

  using Place = std::array<std::uint32_t, 6>;
  [[nodiscard]] std::uint64_t nodes() const;
  [[nodiscard]] Place place(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t node(const Place& place) const;
};

// Defaults are what measurements on the K computer say: a link moves 4.8 to 5 GB/s, one engine alone 3.8 to 4, four at once 3.5
// each. An 8-byte put takes about 1.3 us, 0.1 of it for each hop.
struct TofuParameters {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::uint32_t engines = 4;
  Rate rate{5'000'000'000};
  Rate engine_rate{4'000'000'000};
  Rate node_rate{14'000'000'000}; // memory, each way
  std::uint32_t mtu = 2048;
  std::uint32_t header_bytes = 40;   // header 32, checksum 8
  std::uint32_t classes = 2;         // of traffic that never wait for each other (requests, answers); two lanes each
  std::uint32_t buffer_bytes = 8192; // for each lane at each link
  Picoseconds hop = std::chrono::nanoseconds(100);
  Picoseconds startup = std::chrono::nanoseconds(500);
  Picoseconds queue_access = std::chrono::microseconds(1); // between writes to the queues of two engines
  Picoseconds send_latency = std::chrono::nanoseconds(200);
  Picoseconds receive_latency = std::chrono::nanoseconds(300);
  std::uint32_t queue_packets = 2; // that an engine may have read ahead of its link
};

// The successor: six engines, 6.8 GB/s links (93% of which arrive), packets of 1,920 bytes, 0.08 us a hop.
[[nodiscard]] TofuParameters tofu_d();

// Lanes of class c are 2c and 2c + 1; a flow names the even one. A packet that has still to pass from the last place of a ring
// to the first takes the even lane, any other the odd one: no cycle of buffers can fill up, because no way passes there twice.
[[nodiscard]] constexpr std::uint16_t tofu_lane(std::uint32_t of_class) {
  return static_cast<std::uint16_t>(2 * of_class);
}

Result<Fabric> tofu(const TofuParameters& parameters);

} // namespace heddle::sim
