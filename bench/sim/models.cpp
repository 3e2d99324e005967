// sim_models packets|fluid FABRIC BYTES [AT_ONCE]: an all-to-all over a simulated fabric; prints one line of JSON with what it took.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/size_text.hpp"
#include "bench/sim/all_to_all.hpp"
#include "bench/sim/used.hpp"
#include "sim/description.hpp"
#include "sim/fluid.hpp"
#include "sim/packet_network.hpp"

namespace {

using namespace heddle;

int fail(const Error& error) {
  std::fprintf(stderr, "sim_models: %s\n", error.message().c_str());
  return 1;
}

std::uint64_t steps_of(const sim::PacketNetwork& network) {
  return network.packet_hops();
}
std::uint64_t steps_of(const sim::FluidNetwork& network) {
  return network.solves();
}

// The time counted is that of the simulation; making the fabric and its tables is apart.
template <typename Model>
int measure(std::string_view name, sim::Fabric fabric, std::uint64_t bytes, std::uint64_t at_once) {
  const std::string fabric_name = fabric.name;
  auto model = Model::make(std::move(fabric));
  if (!model) return fail(model.error());
  const double start = bench::processor_seconds();
  const double mebibytes_before = bench::peak_mebibytes();
  bench::AllToAll pattern(*model, bytes, at_once);
  if (const auto done = model->run(); !done) return fail(done.error());
  const double taken = bench::processor_seconds() - start;
  if (!pattern.complete()) {
    std::fprintf(stderr, "sim_models: the all-to-all did not complete\n");
    return 1;
  }
  std::printf(
      "{\"model\": \"%.*s\", \"fabric\": \"%s\", \"nodes\": %u, \"bytes\": %llu, \"seconds\": %.6f, "
      "\"virtual_us\": %.6f, \"steps\": %llu, \"mib\": %.3f}\n",
      static_cast<int>(name.size()), name.data(), fabric_name.c_str(), model->fabric().nodes,
      static_cast<unsigned long long>(bytes), taken, static_cast<double>(model->now().count()) / 1e6,
      static_cast<unsigned long long>(steps_of(*model)), bench::peak_mebibytes() - mebibytes_before);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view model = argc == 4 || argc == 5 ? argv[1] : "";
  if (model != "packets" && model != "fluid") {
    std::fprintf(stderr, "usage: sim_models packets|fluid FABRIC BYTES [AT_ONCE]\n");
    return 2;
  }
  auto fabric = sim::parse_fabric(argv[2]);
  if (!fabric) return fail(fabric.error());
  const auto bytes = base::parse_size(argv[3]);
  if (!bytes) return fail(bytes.error());
  const std::uint64_t at_once = argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 1;
  if (at_once == 0) {
    std::fprintf(stderr, "sim_models: AT_ONCE is '%s': expected 1 or more\n", argv[4]);
    return 2;
  }
  if (model == "packets") return measure<sim::PacketNetwork>(model, std::move(*fabric), *bytes, at_once);
  return measure<sim::FluidNetwork>(model, std::move(*fabric), *bytes, at_once);
}
