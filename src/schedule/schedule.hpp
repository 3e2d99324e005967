// What a scheduling algorithm answers: for every request its engines at both ends, its path, and when it is expected to run.
// Hardware has no clock to start a put by: what is given to the network is, for each engine, the requests in their order.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::schedule {

struct Placement {
  std::uint8_t send_engine = 0;
  std::uint8_t receive_engine = 0;
  std::uint8_t path = 0;
  bool shares_link = false; // with another request, at some time
  double start_ns = 0;      // the engine takes it up
  double end_ns = 0;        // its last byte has left
};

struct Schedule {
  std::vector<Placement> placements; // by request
  // Requests in the order to hand over: engine by engine, so that the processor turns to each queue once.
  std::vector<std::uint32_t> order;
  double makespan_ns = 0;
};

} // namespace heddle::schedule
