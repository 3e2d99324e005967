// sim_library FABRIC PROCESSES_PER_NODE BYTES: one all-to-all of the library between simulated processes, connections included;
// prints one line of JSON with what it took.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "base/size_text.hpp"
#include "bench/sim/used.hpp"
#include "heddle/simulation.hpp"
#include "sim/description.hpp"
#include "tools/heddle/workloads.hpp"

namespace {

using namespace heddle;

int fail(const Error& error) {
  std::fprintf(stderr, "sim_library: %s\n", error.message().c_str());
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: sim_library FABRIC PROCESSES_PER_NODE BYTES\n");
    return 2;
  }
  const auto fabric = sim::parse_fabric(argv[1]);
  if (!fabric) return fail(fabric.error());
  const auto per_node = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const auto bytes = base::parse_size(argv[3]);
  if (!bytes) return fail(bytes.error());
  const std::uint32_t processes = fabric->nodes * per_node;
  const double start = bench::processor_seconds();
  auto world = simulation::World::create(
      {.fabric = argv[1], .peers_per_node = per_node, .options = tool::options_for(processes)});
  if (!world) return fail(world.error());
  // Shared by all: nobody looks at what arrives, and blocks of their own would need memory for the square of their number.
  const std::vector<std::byte> out(*bytes * processes);
  std::vector<std::byte> in(out.size());
  const auto outcome = world->run([&](simulation::Peer& peer) -> simulation::Task {
    const auto request = peer.context().start_alltoall(out, in);
    if (!request) throw std::runtime_error(request.error().message());
    const Completion completion = co_await peer.wait(*request);
    if (completion.bytes != in.size()) throw std::runtime_error(std::string(to_string(completion.code)));
  });
  if (!outcome) return fail(outcome.error());
  if (!outcome->errors.empty()) return fail({.code = ErrorCode::peer_failed, .fact = outcome->errors.front()});
  std::printf(
      "{\"fabric\": \"%s\", \"processes\": %u, \"bytes\": %llu, \"seconds\": %.3f, \"peak_mib\": %.0f, \"virtual_us\": "
      "%.3f, "
      "\"packet_hops\": %llu}\n",
      fabric->name.c_str(), processes, static_cast<unsigned long long>(*bytes), bench::processor_seconds() - start,
      bench::peak_mebibytes(), static_cast<double>(outcome->time.count()) / 1e6,
      static_cast<unsigned long long>(outcome->packet_hops));
  return 0;
}
