// sim_simgrid FABRIC BYTES: the same all-to-all with SimGrid's fluid model, on the same links with the same rates and ways, one actor
// per node; prints the same line of JSON as sim_models. Latencies are left out: give a fabric without them.
#include <cstdio>
#include <simgrid/s4u.hpp>

#include "base/size_text.hpp"
#include "bench/sim/used.hpp"
#include "sim/description.hpp"

namespace sg4 = simgrid::s4u;
using namespace heddle;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "sim_simgrid: %s\n", error.message().c_str());
  return 1;
}

// Payload per second, as the fluid model counts it.
double useful_rate(const sim::Fabric& fabric, const sim::Link& link) {
  return static_cast<double>(link.rate.bytes_per_second) * fabric.packets.mtu /
         (fabric.packets.mtu + fabric.packets.header_bytes);
}

Result<std::vector<sg4::Host*>> build(const sim::Fabric& fabric, const sim::Wiring& wiring) {
  auto* zone = sg4::create_full_zone("fabric");
  std::vector<sg4::Host*> hosts;
  for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
    hosts.push_back(zone->create_host("n" + std::to_string(node), 1e9)->seal());
  }
  std::vector<sg4::Link*> links;
  for (std::size_t i = 0; i < fabric.links.size(); ++i) {
    links.push_back(
        zone->create_link("l" + std::to_string(i), useful_rate(fabric, fabric.links[i]))->set_latency(0)->seal());
  }
  for (std::uint32_t source = 0; source < fabric.nodes; ++source) {
    for (std::uint32_t target = 0; target < fabric.nodes; ++target) {
      if (source == target) continue;
      const auto way =
          sim::path(fabric, wiring, sim::node_end(source), {.node = target, .lid = fabric.tables.base[target]});
      if (!way) return std::unexpected(way.error());
      std::vector<sg4::LinkInRoute> route;
      for (const std::uint32_t link : *way) route.emplace_back(links[link]);
      zone->add_route(hosts[source]->get_netpoint(), hosts[target]->get_netpoint(), nullptr, nullptr, route, false);
    }
  }
  zone->seal();
  return hosts;
}

} // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc != 3) { // the engine has taken its own options away
    std::fprintf(stderr, "usage: sim_simgrid FABRIC BYTES\n");
    return 2;
  }
  // Nothing but max-min fair sharing: no TCP windows, no correction factors, no cost of the way back.
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/TCP-gamma:0");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/bandwidth-factor:1");
  sg4::Engine::set_config("network/latency-factor:1");
  sg4::Engine::set_config("network/weight-S:0");
  const auto fabric = sim::parse_fabric(argv[1]);
  if (!fabric) return fail(fabric.error());
  const auto bytes = base::parse_size(argv[2]);
  if (!bytes) return fail(bytes.error());
  const auto wiring = sim::wire(*fabric);
  if (!wiring) return fail(wiring.error());
  const auto hosts = build(*fabric, *wiring);
  if (!hosts) return fail(hosts.error());

  const std::uint32_t nodes = fabric->nodes;
  for (std::uint32_t source = 0; source < nodes; ++source) {
    sg4::Actor::create("a" + std::to_string(source), (*hosts)[source], [&, source] {
      for (std::uint32_t distance = 1; distance < nodes; ++distance) {
        sg4::Comm::sendto((*hosts)[source], (*hosts)[(source + distance) % nodes], *bytes);
      }
    });
  }
  const double start = bench::processor_seconds();
  engine.run();
  const double taken = bench::processor_seconds() - start;
  std::printf(
      "{\"model\": \"simgrid\", \"fabric\": \"%s\", \"nodes\": %u, \"bytes\": %llu, \"seconds\": %.6f, "
      "\"virtual_us\": %.6f, \"steps\": 0}\n",
      fabric->name.c_str(), nodes, static_cast<unsigned long long>(*bytes), taken, sg4::Engine::get_clock() * 1e6);
  return 0;
}
