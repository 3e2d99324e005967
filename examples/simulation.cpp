// The library on networks that are not there: twelve processes, as coroutines of this program, exchange everything with everybody on a
// simulated fat tree of InfiniBand, once on the paths that a subnet manager would give them and once on planned ones. Time is
// virtual and the same in every run. Started without a launcher: simulation
#include <heddle/simulation.hpp>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using heddle::simulation::Peer;
using heddle::simulation::Task;

constexpr std::size_t kBlock = 128 << 10;

// What every process runs. It waits by co_await, and tells of failures by throwing.
Task exchange(Peer& peer) {
  const std::vector<std::byte> out(kBlock * peer.size(), static_cast<std::byte>(peer.rank()));
  std::vector<std::byte> in(out.size());
  const auto started = peer.context().start_alltoall(out, in);
  if (!started) throw std::runtime_error(started.error().message());
  const heddle::Completion ended = co_await peer.wait(*started);
  if (ended.code != heddle::ErrorCode::ok) throw std::runtime_error(std::string(to_string(ended.code)));
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] != static_cast<std::byte>(i / kBlock)) throw std::runtime_error("a wrong byte has arrived");
}

// Microseconds of virtual time.
double time_of(const std::string& paths) {
  heddle::simulation::Setup setup;
  setup.fabric = "infiniband:6-ary-2-tree:30";
  setup.nodes = {0, 6, 12, 18, 24, 1, 7, 13, 19, 25, 2, 8}; // as a batch system might scatter a job
  setup.options.paths = paths;
  auto world = heddle::simulation::World::create(setup);
  if (!world) throw std::runtime_error(world.error().message());
  const auto outcome = world->run(exchange);
  if (!outcome) throw std::runtime_error(outcome.error().message());
  if (!outcome->errors.empty()) throw std::runtime_error(outcome->errors.front());
  return static_cast<double>(outcome->time.count()) / 1e6;
}

} // namespace

int main() {
  try {
    const double conventional = time_of("conventional");
    const double planned = time_of("colouring");
    const auto percent = std::lround(100 * (1 - planned / conventional));
    std::cout << "conventional paths: " << conventional << " us\n";
    std::cout << "planned paths: " << planned << " us, " << percent << " % less\n";
    return percent > 0 ? 0 : 1;
  } catch (const std::runtime_error& error) {
    std::cerr << "simulation: " << error.what() << '\n';
    return 1;
  }
}
