// What 004 names of its switch and measures nothing of (3.2): structured channels and their reduction, the virtual-channel cache, slack
// buffers for long cables, and the maintenance processor that tells a management node of a changed topology. Each is a mechanism of the
// model; here is what each does.
#include "reproduce.hpp"

#include "sim/description.hpp"
#include "sim/rhinet/channels.hpp"
#include "sim/rhinet/network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

namespace heddle::tool {
namespace {

using Network = std::unique_ptr<sim::RhinetNetwork>;

// Beside the interface as built another one, which never existed, so that switches are the limit and not interfaces: the report's
// remedies, and clocks of 100 MHz, where it has 16 MHz, or 25 with its third remedy, and 33 for PCI.
constexpr const char* kImagined = "overlap=1,read_multiple=1,controller_cycle=10ns,pci_cycle=10ns";
struct Interface {
  const char* name;
  const char* settings;
};
constexpr std::array kInterfaces{Interface{"as-built", ""}, Interface{"imagined", kImagined}};
constexpr std::string_view kNoteOnInterfaces =
    "figures of `imagined` are of an interface that never existed, with 004's remedies and clocks of 100 MHz, so that "
    "switches "
    "are the limit and not interfaces";
const std::vector<std::string_view> kClocks{"rhinet.overlap", "rhinet.read_multiple", "rhinet.controller_cycle",
                                            "rhinet.pci_cycle"};
std::vector<std::string_view> and_clocks(std::vector<std::string_view> names) {
  names.insert(names.end(), kClocks.begin(), kClocks.end());
  return names;
}

// What it is told beside what the report has.
void add_clocks(Reproduction& all, const std::string& id) {
  all.figures.push_back({id + "imagined/controller_clock", 25, 100, "MHz", Kind::input});
  all.figures.push_back({id + "imagined/pci_clock", 33, 100, "MHz", Kind::input});
}

// A fabric with settings of its own, of which some may be empty.
std::string with(std::string text, std::initializer_list<std::string_view> settings) {
  for (const std::string_view each : settings)
    if (!each.empty()) text.append(",").append(each);
  return text;
}

Result<Network> network_of(const std::string& text, const Parameters& parameters,
                           std::vector<sim::CableChange> changes = {}) {
  auto fabric = sim::parse_fabric(parameters.fabric(text));
  if (!fabric) return std::unexpected(fabric.error());
  return sim::RhinetNetwork::make_changing(std::move(*fabric), std::move(changes));
}

// Every node sends that much to every other, at distance 1 first, all handed over at once. MB/s that a node receives.
Result<double> all_to_all(sim::RhinetNetwork& network, std::uint64_t bytes) {
  const std::uint32_t nodes = network.fabric().nodes;
  for (std::uint32_t distance = 1; distance < nodes; ++distance)
    for (std::uint32_t node = 0; node < nodes; ++node)
      if (auto sent = network.submit({.source = node, .target = (node + distance) % nodes, .bytes = bytes}); !sent)
        return std::unexpected(sent.error());
  if (auto ran = network.run(); !ran) return std::unexpected(ran.error());
  return static_cast<double>(bytes * (nodes - 1)) / (static_cast<double>(network.now().count()) / 1e6);
}

constexpr std::array kTopologies{"ring:8", "ring:16", "torus:4x4", "torus:8x8"};
constexpr std::uint64_t kTraffic = 16 << 10; // from each node to each

// How many channels shortest ways take, and what they gain over ways that go up and then down.
Result<void> add_channels(Reproduction& all, const Run& run) {
  for (const std::string topology : kTopologies) {
    const std::string id = fmt::format("rhinet/channels/{}/", topology);
    run.at(id);
    const auto fabric = sim::parse_fabric(run.parameters.fabric("rhinet:" + topology));
    if (!fabric) return std::unexpected(fabric.error());
    const auto needed = [&](sim::RhinetRouting routing) {
      return sim::rhinet_tables(*fabric, routing, sim::kMostLanes).needed;
    };
    const std::uint32_t structured = needed(sim::RhinetRouting::structured);
    const std::uint32_t reduced = needed(sim::RhinetRouting::reduced);
    all.figures.push_back({id + "structured", {}, static_cast<double>(structured), ""});
    all.figures.push_back({id + "reduced", {}, static_cast<double>(reduced), ""});
    all.figures.push_back({.id = id + "reduced_to_structured",
                           .report = {},
                           .ours = static_cast<double>(reduced) / structured,
                           .unit = "times",
                           .below = 1.0});
    for (const Interface& interface : kInterfaces)
      for (const bool shortest : {false, true}) {
        const std::string ways = shortest ? fmt::format("routing=reduced,channels={}", reduced) : "routing=up_down";
        auto network = network_of(with("rhinet:" + topology, {interface.settings, "lanes=1", ways}), run.parameters);
        if (!network) return std::unexpected(network.error());
        const auto speed = all_to_all(**network, kTraffic);
        if (!speed) return std::unexpected(speed.error());
        all.figures.push_back(
            {fmt::format("{}{}/{}/speed", id, interface.name, shortest ? "reduced" : "up_down"), {}, *speed, "MB/s"});
      }
  }
  return {};
}

// A ring in which everybody sends two switches on, with buffers for little more than a packet: whether it comes to an end.
Result<void> add_deadlock(Reproduction& all, const Run& run) {
  struct Routing {
    const char* name;
    const char* text;
    bool avoids;
  };
  constexpr std::array kRoutings{
      Routing{"shortest", "routing=shortest", false}, Routing{"structured", "routing=structured,channels=3", true},
      Routing{"reduced", "routing=reduced,channels=2", true}, Routing{"up_down", "routing=up_down", true}};
  add_clocks(all, "rhinet/channels/");
  for (const Routing& routing : kRoutings) {
    auto network = network_of(
        with("rhinet:ring:6", {kImagined, "lanes=1,mtu=4096,metres=20,buffer=4300", routing.text}), run.parameters);
    if (!network) return std::unexpected(network.error());
    for (std::uint32_t node = 0; node < 6; ++node)
      for (int i = 0; i < 30; ++i)
        if (auto sent = (*network)->submit({.source = node, .target = (node + 2) % 6, .bytes = 4096}); !sent)
          return std::unexpected(sent.error());
    const auto ran = (*network)->run();
    if (!ran && (*network)->find_deadlock().empty()) return std::unexpected(ran.error());
    all.figures.push_back({.id = fmt::format("rhinet/channels/deadlocks/{}", routing.name),
                           .report = {},
                           .ours = ran ? 0.0 : 1.0,
                           .unit = "",
                           .below = routing.avoids ? std::optional(1.0) : std::nullopt});
  }
  return add_channels(all, run);
}

// Fewer buffers on the chip than channels.
Result<void> add_cache(Reproduction& all, const Run& run) {
  constexpr std::uint32_t kChannels = 4;
  add_clocks(all, "rhinet/cache/");
  Chart chart{.file = "rhinet-cache",
              .title = "All-to-all on a torus of 8 x 8 switches with fewer buffers than channels (004, 3.2)",
              .x_name = "buffers on the chip for each input; the last: one for every channel",
              .y_name = "MB/s per node"};
  for (const Interface& interface : kInterfaces) {
    Series series{.name = fmt::format("reduced, {}", interface.name)};
    double full = 0;
    for (const std::uint32_t cached : {3 * kChannels, 1U, 2U, 4U, 6U}) {
      const std::string id = fmt::format("rhinet/cache/{}/{}/", interface.name, cached);
      run.at(id);
      auto network = network_of(
          with("rhinet:torus:8x8",
               {interface.settings, fmt::format("lanes=2,routing=reduced,channels={},cached={}", kChannels, cached)}),
          run.parameters);
      if (!network) return std::unexpected(network.error());
      const auto speed = all_to_all(**network, kTraffic);
      if (!speed) return std::unexpected(speed.error());
      if (full == 0) full = *speed;
      const auto& counted = (*network)->cache();
      const auto met = static_cast<double>(counted.hits + counted.misses);
      all.figures.push_back({id + "speed", {}, *speed, "MB/s"});
      all.figures.push_back({id + "of_all_on_chip", {}, 100 * *speed / full, "%"});
      all.figures.push_back({id + "hits", {}, 100 * static_cast<double>(counted.hits) / met, "%"});
      series.points.emplace_back(cached, *speed);
    }
    std::ranges::sort(series.points);
    chart.series.push_back(std::move(series));
  }
  all.charts.push_back(std::move(chart));
  return {};
}

// The smallest buffer that loses nothing, as the model accepts it: below it the network is refused.
Result<std::uint32_t> smallest_buffer(const std::string& cables, const Run& run) {
  std::uint32_t too_small = 1;
  std::uint32_t enough = 1 << 24;
  while (enough - too_small > 1) {
    const std::uint32_t middle = too_small + (enough - too_small) / 2;
    const auto network = network_of(with("rhinet:star:4", {cables, fmt::format("buffer={}", middle)}), run.parameters);
    (network ? enough : too_small) = middle;
  }
  return enough;
}

// Three nodes send to a fourth: how much comes into the fullest buffer of a switch, counted from where it has said stop.
constexpr std::uint32_t kSmallPacket = 64;
Result<double> comes_after_stop(const std::string& text, std::uint32_t mark, const Run& run) {
  constexpr std::uint32_t kBytes = 1 << 17; // from each
  auto network = network_of(text, run.parameters);
  if (!network) return std::unexpected(network.error());
  for (std::uint32_t source = 1; source < 4; ++source)
    if (auto sent = (*network)->submit({.source = source, .target = 0, .bytes = kBytes}); !sent)
      return std::unexpected(sent.error());
  if (auto ran = (*network)->run(); !ran) return std::unexpected(ran.error());
  std::uint32_t fullest = 0;
  for (std::uint32_t link = 0; link < (*network)->fabric().links.size(); ++link)
    if ((*network)->fabric().links[link].to.kind == sim::End::Kind::switch_)
      fullest = std::max(fullest, (*network)->counters(link).largest_queue);
  return fullest > mark ? fullest - mark : 0;
}

// What is kept free in a buffer for what comes after it has said stop; and what comes. Packets that have begun come whole, so that is
// shown with small ones: of large ones the second does not fit in any more, however long the cable is.
Result<void> add_slack(Reproduction& all, const Run& run) {
  constexpr std::uint32_t kShort = 20;
  constexpr std::uint32_t kFar = 100; // what 004 allows
  add_clocks(all, "rhinet/slack/");
  std::array<double, 2> kept{};
  std::array<std::array<double, 2>, kInterfaces.size()> came_at{};
  for (const std::uint32_t metres : {kShort, kFar, 10 * kFar}) {
    const std::string id = fmt::format("rhinet/slack/{}m/", metres);
    const std::string cables = fmt::format("metres={}", metres);
    const std::string small = fmt::format("{},mtu={}", cables, kSmallPacket);
    const auto needed = smallest_buffer(cables, run);
    if (!needed) return std::unexpected(needed.error());
    const auto of_small = smallest_buffer(small, run);
    if (!of_small) return std::unexpected(of_small.error());
    all.figures.push_back({id + "kept_free", {}, static_cast<double>(*needed), "bytes"});
    all.figures.push_back({id + "small_packets/kept_free", {}, static_cast<double>(*of_small), "bytes"});
    if (metres >= kFar) kept[metres == kFar ? 0 : 1] = *needed;
    const std::uint32_t buffer = 2 * *of_small;
    for (std::size_t i = 0; i < kInterfaces.size(); ++i) {
      const auto came =
          comes_after_stop(with("rhinet:star:4", {kInterfaces[i].settings, fmt::format("{},buffer={}", small, buffer)}),
                           buffer - *of_small, run);
      if (!came) return std::unexpected(came.error());
      if (metres >= kFar) came_at[i][metres == kFar ? 0 : 1] = *came;
      const std::string of_interface = fmt::format("{}small_packets/{}/", id, kInterfaces[i].name);
      all.figures.push_back({of_interface + "came_after_stop", {}, *came, "bytes"});
      // "Order is kept, nothing is dropped": what came and found no room.
      all.figures.push_back({.id = of_interface + "lost",
                             .report = {},
                             .ours = std::max(0.0, *came - *of_small),
                             .unit = "bytes",
                             .below = 1.0});
    }
  }
  const auto for_each_metre = [](const std::array<double, 2>& bytes) { return (bytes[1] - bytes[0]) / (9 * kFar); };
  all.figures.push_back({"rhinet/slack/for_each_metre/kept_free", {}, for_each_metre(kept), "bytes"});
  for (std::size_t i = 0; i < kInterfaces.size(); ++i)
    all.figures.push_back({fmt::format("rhinet/slack/for_each_metre/{}/came_after_stop", kInterfaces[i].name),
                           {},
                           for_each_metre(came_at[i]),
                           "bytes"});
  return {};
}

// A cable of a ring is cut, and plugged again: how long after each the management node is told, in us.
Result<Headline> maintenance(const Parameters& parameters) {
  constexpr sim::Picoseconds kCut = std::chrono::milliseconds(1);
  constexpr sim::Picoseconds kPlugged = std::chrono::milliseconds(5);
  constexpr std::uint32_t kCable = 9; // between switches 4 and 5, opposite the management node
  auto network =
      network_of("rhinet:ring:8", parameters,
                 {{.cable = kCable, .at = kCut, .plugged = false}, {.cable = kCable, .at = kPlugged, .plugged = true}});
  if (!network) return std::unexpected(network.error());
  if (auto ran = (*network)->run(); !ran) return std::unexpected(ran.error());
  Headline told;
  for (const auto& report : (*network)->reports()) {
    const bool gone = !report.gone.empty();
    const sim::Picoseconds after = report.time - (gone ? kCut : kPlugged);
    told.emplace_back(gone ? "told_of_cut" : "told_of_plug", static_cast<double>(after.count()) / 1e6);
  }
  return told;
}

Result<void> add_maintenance(Reproduction& all, const Run& run) {
  const auto told = maintenance(run.parameters);
  if (!told) return std::unexpected(told.error());
  for (const auto& [name, us] : *told)
    all.figures.push_back({fmt::format("rhinet/maintenance/{}", name), {}, us, "us"});
  return {};
}

} // namespace

std::vector<Part> rhinet_switch_parts() {
  return {{{"rhinet/channels"},
           "Channels that shortest ways take without deadlock; speeds as built and of an imagined interface of 100 MHz",
           {"rhinet"},
           add_deadlock,
           kNoteOnInterfaces,
           and_clocks(
               {"rhinet.routing", "rhinet.channels", "rhinet.lanes", "rhinet.mtu", "rhinet.metres", "rhinet.buffer"})},
          {{"rhinet/cache"},
           "Fewer buffers on the chip than channels, as built and with an imagined interface of 100 MHz",
           {"rhinet"},
           add_cache,
           kNoteOnInterfaces,
           and_clocks({"rhinet.routing", "rhinet.channels", "rhinet.lanes", "rhinet.cached"})},
          {{"rhinet/slack"},
           "Slack buffers and the length of cables, as built and with an imagined interface of 100 MHz",
           {"rhinet"},
           add_slack,
           kNoteOnInterfaces,
           and_clocks({"rhinet.metres", "rhinet.buffer", "rhinet.mtu"})},
          {{"rhinet/maintenance"}, "What the management node hears of cables", {"rhinet"}, add_maintenance}};
}

// Of switches with fewer buffers than channels, as built, and of a cable that is cut.
Result<Headline> rhinet_switch_headline(const Parameters& parameters) {
  auto network = network_of("rhinet:torus:4x4,routing=reduced,channels=4,cached=1", parameters);
  if (!network) return std::unexpected(network.error());
  const auto speed = all_to_all(**network, kTraffic);
  if (!speed) return std::unexpected(speed.error());
  Headline headline{{"all-to-all, one buffer", *speed}};
  const auto told = maintenance(parameters);
  if (!told) return std::unexpected(told.error());
  if (told->empty()) return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "nobody is told of a cut"});
  headline.emplace_back("told of cut", told->front().second);
  return headline;
}

} // namespace heddle::tool
