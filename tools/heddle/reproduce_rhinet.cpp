// The report on RHiNET-1: the timeline of a 64-byte push, latency and bandwidth, and what its remedies would bring. Theirs was
// measured on two PCs, ours is the packet model of src/sim/rhinet.
#include "reproduce.hpp"

#include "sim/rhinet/network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace heddle::tool {
namespace {

using sim::Picoseconds;
using sim::RhinetParameters;

// PM on Myrinet, for comparison (004, 4.1 and 4.2).
constexpr double kMyrinetLatency = 7.5;   // us
constexpr double kMyrinetBandwidth = 119; // MB/s
constexpr double kSoftware = 1.0; // us that the report's programs saw on top of its logic analyser; not modelled

struct Moment {
  const char* name;
  double report; // us
};
constexpr std::array<Moment, sim::kPushMoments> kMoments{{{"01-pci-primitive-write", 0.00},
                                                          {"02-local-bus-primitive-write", 0.29},
                                                          {"03-data-dma-request", 2.04},
                                                          {"04-header-to-network", 2.21},
                                                          {"05-pci-data-dma", 2.64},
                                                          {"06-data-on-local-bus", 3.54},
                                                          {"07-data-to-network", 3.96},
                                                          {"08-flag-dma-request", 4.98},
                                                          {"09-pci-flag-write", 5.94},
                                                          {"10-receiver-dma-request", 6.23},
                                                          {"11-receiver-data-on-local-bus", 6.97},
                                                          {"12-receiver-pci-data-dma", 8.14}}};

// The interface as built, with each remedy, with all; and with all and the link at the clock that it is built for, at which it is
// faster than PCI, as the report says.
struct Variant {
  const char* id;
  const char* name;
  RhinetParameters parameters;
};
std::vector<Variant> variants(const RhinetParameters& as_built) {
  RhinetParameters overlap = as_built;
  overlap.overlap = true;
  RhinetParameters read_multiple = as_built;
  read_multiple.read_multiple = true;
  RhinetParameters fast = as_built;
  fast.controller_cycle = Picoseconds{40'000};
  RhinetParameters all = fast;
  all.overlap = true;
  all.read_multiple = true;
  RhinetParameters all_fast_link = all;
  all_fast_link.rate = {133'000'000};
  return {{"as-built", "as built", as_built},
          {"overlap", "overlap", overlap},
          {"read-multiple", "read-multiple", read_multiple},
          {"25-mhz", "25 MHz", fast},
          {"all", "all", all},
          {"all-link-133-mhz", "all, 133 MHz", all_fast_link}};
}

// One push between two nodes on a switch, and the moments of a 64-byte push.
class Experiment : private sim::Listener, private sim::PushProbe {
 public:
  static Result<Experiment> make(const RhinetParameters& parameters, std::uint32_t nodes = 2) {
    auto fabric = sim::rhinet(parameters, sim::star(nodes));
    if (!fabric) return std::unexpected(std::move(fabric).error());
    auto network = sim::RhinetNetwork::make(std::move(*fabric));
    if (!network) return std::unexpected(std::move(network).error());
    return Experiment(std::move(*network));
  }
  // Microseconds until the last target has it.
  Result<double> push(std::uint64_t bytes, std::vector<std::uint32_t> targets = {1}) {
    const Picoseconds start = network_->now();
    network_->listen(this);
    network_->probe(this);
    sim::Flow flow{.source = 0, .target = targets.front(), .bytes = bytes};
    if (targets.size() > 1) {
      const auto group = network_->add_group(std::move(targets));
      if (!group) return std::unexpected(group.error());
      flow.group = *group;
    }
    if (auto submitted = network_->submit(flow); !submitted) return std::unexpected(submitted.error());
    if (auto done = network_->run(); !done) return std::unexpected(done.error());
    return in_microseconds(last_ - start);
  }
  [[nodiscard]] double moment(std::size_t index) const { return in_microseconds(moments_[index]); }

 private:
  explicit Experiment(std::unique_ptr<sim::RhinetNetwork> network) : network_(std::move(network)) {}
  static double in_microseconds(Picoseconds time) { return static_cast<double>(time.count()) / 1e6; }
  void departed(const sim::Flow&) override {}
  void arrived(const sim::Flow&) override { last_ = network_->now(); }
  void timer(std::uint64_t) override {}
  void moment(sim::PushMoment moment, Picoseconds time, std::uint64_t) override {
    moments_[static_cast<std::size_t>(moment)] = time;
  }

  std::unique_ptr<sim::RhinetNetwork> network_;
  Picoseconds last_{0};
  std::array<Picoseconds, sim::kPushMoments> moments_{};
};

Result<std::array<double, sim::kPushMoments>> timeline(const RhinetParameters& parameters) {
  auto experiment = Experiment::make(parameters);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto pushed = experiment->push(64); !pushed) return std::unexpected(pushed.error());
  std::array<double, sim::kPushMoments> times{};
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = experiment->moment(i);
  return times;
}

Result<void> add_timeline(Reproduction& all, const Run& run) {
  RhinetParameters parameters = run.parameters.rhinet();
  const auto as_built = timeline(parameters);
  if (!as_built) return std::unexpected(as_built.error());
  for (std::size_t i = 0; i < kMoments.size(); ++i)
    all.figures.push_back({fmt::format("rhinet/push64/{}", kMoments[i].name), kMoments[i].report, (*as_built)[i], "us",
                           i == 0 ? Kind::input : Kind::fitted});
  parameters.overlap = true;
  const auto overlapped = timeline(parameters);
  if (!overlapped) return std::unexpected(overlapped.error());
  const auto saved = [&](std::size_t from, std::size_t to) {
    return ((*as_built)[to] - (*as_built)[from]) - ((*overlapped)[to] - (*overlapped)[from]);
  };
  // Nearly all of the intervals that cycles were fitted to: what the model adds is only that hardly anything of them is left.
  all.figures.push_back({"rhinet/overlap/saved", 2.07, saved(0, 11), "us", Kind::fitted});
  all.figures.push_back({"rhinet/overlap/saved/sender", 0.90, saved(4, 5), "us", Kind::fitted});
  all.figures.push_back({"rhinet/overlap/saved/receiver", 1.17, saved(10, 11), "us", Kind::fitted});
  return {};
}

// Bandwidth is bytes over one-way time, as a ping-pong sees it; "sustained" leaves out the start.
Result<void> add_curves(Reproduction& all, const Variant& variant, Chart& latency, Chart& bandwidth) {
  const bool as_built = std::string_view(variant.id) == "as-built";
  const auto known = [&](double value) { return as_built ? std::optional(value) : std::nullopt; };
  const auto id = [&](const char* what) { return fmt::format("rhinet/{}/{}", variant.id, what); };
  Series& times = latency.series.emplace_back(Series{.name = variant.name});
  Series& rates = bandwidth.series.emplace_back(Series{.name = variant.name});
  double short_time = 0;
  for (std::uint64_t bytes = 8; bytes <= 65536; bytes *= 2) {
    auto experiment = Experiment::make(variant.parameters);
    if (!experiment) return std::unexpected(experiment.error());
    const auto time = experiment->push(bytes);
    if (!time) return std::unexpected(time.error());
    const double rate = static_cast<double>(bytes) / *time;
    rates.points.emplace_back(static_cast<double>(bytes), rate);
    if (bytes <= 4096) {
      times.points.emplace_back(static_cast<double>(bytes), *time);
      all.figures.push_back({fmt::format("{}/{}", id("latency"), bytes), bytes == 8 ? known(8.1) : std::nullopt, *time,
                             "us", bytes == 8 && as_built ? Kind::fitted : Kind::predicted});
    }
    const Kind kind = as_built ? Kind::fitted : Kind::predicted; // from the twelve times, and from the figure at 4 KiB
    if (bytes == 8) {
      all.figures.push_back({id("latency/8/with-software"), known(9.1), *time + kSoftware, "us", kind});
      // Another network's figure beside ours, as the report puts it beside its own.
      all.figures.push_back({fmt::format("rhinet/myrinet/latency/8/{}", variant.id), kMyrinetLatency, *time + kSoftware,
                             "us", Kind::contrast});
      all.figures.push_back(
          {id("latency/8/above-myrinet"), known(1.6), *time + kSoftware - kMyrinetLatency, "us", kind});
    }
    if (bytes == 4096) {
      all.figures.push_back({fmt::format("rhinet/myrinet/bandwidth/4096/{}", variant.id), kMyrinetBandwidth, rate,
                             "MB/s", Kind::contrast});
      all.figures.push_back({id("bandwidth/4096/of-myrinet"), known(100 * 37 / kMyrinetBandwidth),
                             100 * rate / kMyrinetBandwidth, "%", kind});
    }
    if (bytes >= 1024)
      all.figures.push_back({fmt::format("{}/{}", id("bandwidth"), bytes), bytes == 4096 ? known(37) : std::nullopt,
                             rate, "MB/s", bytes == 4096 ? kind : Kind::predicted});
    if (bytes == 32768) short_time = *time;
    if (bytes == 65536) all.figures.push_back({id("bandwidth/sustained"), {}, 32768 / (*time - short_time), "MB/s"});
  }
  const sim::RhinetBandwidth closed = sim::sustained_bandwidth(variant.parameters);
  all.figures.push_back({id("bandwidth/closed-form"), {}, closed.limit() / 1e6, "MB/s"});
  all.figures.push_back({id("bandwidth/pci-alone"), {}, closed.pci / 1e6, "MB/s"});
  return {};
}

// What "almost" is taken to allow.
constexpr double kAlmost = 0.20;

Result<void> add_multicast(Reproduction& all, const Run& run) {
  Chart chart{.file = "rhinet-mcast",
              .title = "64 bytes to many, copied by the switches",
              .x_name = "receivers",
              .y_name = "us until the last has it"};
  Series& series = chart.series.emplace_back(Series{.name = "mcast"});
  double to_two = 0;
  double to_all = 0;
  for (std::uint32_t count = 2; count <= 64; count *= 2) {
    auto experiment = Experiment::make(run.parameters.rhinet(), 65);
    if (!experiment) return std::unexpected(experiment.error());
    std::vector<std::uint32_t> targets;
    for (std::uint32_t node = 1; node <= count; ++node) targets.push_back(node);
    const auto time = experiment->push(64, std::move(targets));
    if (!time) return std::unexpected(time.error());
    series.points.emplace_back(count, *time);
    all.figures.push_back({fmt::format("rhinet/mcast/{}", count), {}, *time, "us"});
    if (count == 2) to_two = *time;
    to_all = *time;
  }
  // "The time is almost the same whatever their number."
  all.figures.push_back({"rhinet/mcast/64-over-2", 1.0, to_all / to_two, "times", Kind::predicted, kAlmost});
  all.charts.push_back(std::move(chart));
  return add_rhinet_mcast_by_library(all, run);
}

Result<void> add_all_curves(Reproduction& all, const Run& run) {
  Chart latency{
      .file = "rhinet-latency", .title = "One-way latency of push (004, figure 7)", .x_name = "bytes", .y_name = "us"};
  Chart bandwidth{
      .file = "rhinet-bandwidth", .title = "Bandwidth of push (004, 4.2)", .x_name = "bytes", .y_name = "MB/s"};
  for (const Variant& variant : variants(run.parameters.rhinet()))
    if (auto added = add_curves(all, variant, latency, bandwidth); !added) return added;
  latency.series.push_back({.name = "as built", .points = {{8, 8.1}, {64, 8.14}}, .reported = true});
  bandwidth.series.push_back({.name = "as built", .points = {{4096, 37}}, .reported = true});
  all.charts.push_back(std::move(latency));
  all.charts.push_back(std::move(bandwidth));
  return {};
}

} // namespace

std::vector<Part> rhinet_parts() {
  std::vector<Part> parts{
      {{"rhinet/push64", "rhinet/overlap/saved"},
       "A push of 64 bytes, moment by moment",
       {"rhinet"},
       add_timeline,
       "",
       {"rhinet.overlap"}},
      {{"rhinet/as-built", "rhinet/overlap", "rhinet/read-multiple", "rhinet/25-mhz", "rhinet/all",
        "rhinet/all-link-133-mhz", "rhinet/myrinet"},
       "Latency and bandwidth of push, as built and with the report's remedies",
       {"rhinet"},
       add_all_curves,
       "the remedies are 004's: overlap, read-multiple, and a controller of 25 MHz; a link of 133 MHz is what it is "
       "built for",
       {"rhinet.overlap", "rhinet.read_multiple", "rhinet.controller_cycle", "rhinet.rate"}},
      {{"rhinet/mcast"}, "One write to many, copied by the switches", {"rhinet", "library"}, add_multicast}};
  std::ranges::move(rhinet_switch_parts(), std::back_inserter(parts));
  return parts;
}

Result<Headline> rhinet_headline(const Parameters& parameters) {
  Headline headline;
  for (const std::uint64_t bytes : {8U, 4096U}) {
    auto experiment = Experiment::make(parameters.rhinet());
    if (!experiment) return std::unexpected(experiment.error());
    const auto time = experiment->push(bytes);
    if (!time) return std::unexpected(time.error());
    headline.emplace_back(fmt::format("push of {}", bytes), *time);
  }
  const auto of_switches = rhinet_switch_headline(parameters);
  if (!of_switches) return std::unexpected(of_switches.error());
  headline.insert(headline.end(), of_switches->begin(), of_switches->end());
  return headline;
}

} // namespace heddle::tool
