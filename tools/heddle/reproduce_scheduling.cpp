// The report on RDMA scheduling on the K computer: the halo exchange of SCALE-LES3 in five sets of directions, eleven grid sizes and
// several algorithms, on the simulated Tofu, through the library. 48 processes on a periodic grid of 6 x 8, barriers around.
// Theirs are measurements; where the text gives a number it stands beside ours.
#include "halo_on_tofu.hpp"
#include "reproduce.hpp"

#include "halo.hpp"
#include "schedule/algorithms.hpp"

#include <heddle/simulation.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace heddle::tool {
namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;

constexpr std::uint32_t kRowCount = 6;
constexpr std::uint32_t kColumnCount = 8;
constexpr const char* kFabric = "tofu:4x1x1";
constexpr int kRounds = 4; // measured, after one that is not
constexpr std::string_view kOriginal = "orig";

// The report's; its idea for small sizes (figure 14), which it did not try; and ours. All run alike: the library's default options,
// barriers before the first put and after the last. What cannot be alike: messages need no barriers, since a receive says where its
// message goes, but are given them; and they go in pieces of the option chunk_bytes, puts whole.
constexpr std::array<std::string_view, 9> kMethods{"round-robin-1",      "round-robin-2", "round-robin-4",
                                                   "bottom-left-1",      "bottom-left-2", "bottom-left-4",
                                                   "bottom-left-seeded", "sharing",       kOriginal};

struct PlottedPattern {
  int number;
  const char* name;
  const char* directions;
};
constexpr std::array<PlottedPattern, 5> kPlotted{{{4, "east-west", "ew"},
                                                  {6, "north-south", "ns"},
                                                  {8, "four", "ewns"},
                                                  {10, "diagonal", "diagonal"},
                                                  {12, "eight", "all"}}};

// What the text says of k = 872, in us.
std::optional<double> reported(int figure, std::string_view method) {
  const bool packed = method.starts_with("bottom-left");
  if (figure == 4 && (packed || method == "round-robin-2" || method == "round-robin-4")) return 72;
  if (figure == 6 && packed) return 74;
  if (figure == 6 && method == "round-robin-2") return 108;
  if (figure == 6 && method == "round-robin-4") return 64;
  if (figure == 8 && method == "bottom-left-4") return 86;
  return std::nullopt;
}

// Row after row.
const Grid kGrid{.size = {kRowCount, kColumnCount}, .periodic = {true, true}, .ranks = {}};

// By rank. A ring of eight in X and A for the columns, one of six in C and B for the rows: every straight neighbour is one hop
// away, and since packets go along X, A, C, B in this order, every diagonal one by a column first, then by a row.
std::vector<std::uint32_t> nodes_on_torus() {
  constexpr std::array<std::array<std::uint32_t, 2>, kColumnCount> kXA{
      {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}}};
  constexpr std::array<std::array<std::uint32_t, 2>, kRowCount> kCB{{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1}, {1, 0}}};
  std::vector<std::uint32_t> nodes;
  for (const auto& [c, b] : kCB)
    for (const auto& [x, a] : kXA) nodes.push_back(((x * 2 + a) * 3 + b) * 2 + c);
  return nodes;
}

void check(ErrorCode code) {
  if (code != ErrorCode::ok) throw std::runtime_error(std::string(to_string(code)));
}

// One process's memory for a set of puts.
struct Halo {
  std::vector<std::vector<std::byte>> out;
  std::vector<std::vector<std::byte>> in;
  std::vector<NeighbourExchange> exchanges;

  explicit Halo(const std::vector<HaloPut>& puts) {
    for (const HaloPut& put : puts) {
      const Step step = step_of(put.direction);
      out.emplace_back(put.bytes);
      in.emplace_back(put.bytes);
      exchanges.push_back({.offset = {step.row, step.column}, .out = ConstLayout(out.back()), .in = Layout(in.back())});
    }
  }
};

// The first beginning and the last end of all processes.
struct Clock {
  Time begin = Time::max();
  Time end{};
  [[nodiscard]] double us_per_round() const { return static_cast<double>((end - begin).count()) / 1e6 / kRounds; }
};

// Planned puts, with barriers around. No algorithm and no puts: nothing but the barriers.
Task planned(Peer& peer, Halo& halo, std::string algorithm, Clock& clock) {
  auto pattern = Pattern::neighbour_alltoall(peer.context(), kGrid, halo.exchanges,
                                             {.barriers = true, .algorithm = std::move(algorithm)});
  if (!pattern) throw std::runtime_error(pattern.error().message());
  const auto compiled = pattern->start_compile();
  const Completion ended = co_await peer.wait(*compiled);
  if (ended.code != ErrorCode::ok) throw std::runtime_error(pattern->error()->message());
  for (int round = 0; round <= kRounds; ++round) {
    if (round == 1) clock.begin = std::min(clock.begin, peer.now());
    const auto started = pattern->start();
    if (!started) throw std::runtime_error(started.error().message());
    check((co_await peer.wait(*started)).code);
  }
  clock.end = std::max(clock.end, peer.now());
}

std::uint32_t neighbour(std::uint32_t rank, const std::vector<int>& offset) {
  const std::uint32_t row = (rank / kColumnCount + kRowCount + static_cast<std::uint32_t>(offset[0])) % kRowCount;
  const std::uint32_t column =
      (rank % kColumnCount + kColumnCount + static_cast<std::uint32_t>(offset[1])) % kColumnCount;
  return row * kColumnCount + column;
}

// The same by messages: eager and rendezvous, nothing planned, between the same barriers.
Task original(Peer& peer, Halo& halo, Clock& clock) {
  std::vector<Request> requests;
  for (int round = 0; round <= kRounds; ++round) {
    if (round == 1) clock.begin = std::min(clock.begin, peer.now());
    check((co_await peer.barrier()).code);
    requests.clear();
    for (const NeighbourExchange& exchange : halo.exchanges) {
      const std::vector<int> opposite{-exchange.offset[0], -exchange.offset[1]};
      const auto code = [](const std::vector<int>& offset) {
        return Tag{static_cast<std::uint64_t>((offset[0] + 1) * 3 + offset[1] + 1)};
      };
      const Rank with{neighbour(std::to_underlying(peer.rank()), exchange.offset)};
      requests.push_back(*peer.context().receive({.source = with, .tag = code(opposite)}, exchange.in));
      requests.push_back(*peer.context().send(with, code(exchange.offset), exchange.out));
    }
    check(co_await peer.wait_all(requests));
    check((co_await peer.barrier()).code);
  }
  clock.end = std::max(clock.end, peer.now());
}

Result<double> exchange_us(const std::vector<HaloPut>& puts, std::string_view method, const Parameters& parameters) {
  auto world = simulation::World::create(
      {.fabric = parameters.fabric(kFabric),
       .peers = kRowCount * kColumnCount,
       .nodes = nodes_on_torus(),
       .options = {.schedule =
                       "immediate"}}); // nothing is planned but by the method, messages and barriers least of all
  if (!world) return std::unexpected(world.error());
  Clock clock;
  const auto outcome = world->run([&](Peer& peer) -> Task {
    Halo halo(puts);
    if (method == kOriginal)
      co_await original(peer, halo, clock);
    else
      co_await planned(peer, halo, std::string(method), clock);
  });
  if (!outcome) return std::unexpected(outcome.error());
  if (!outcome->errors.empty())
    return std::unexpected(Error{.code = ErrorCode::peer_failed, .fact = outcome->errors.front()});
  return clock.us_per_round();
}

using Times = std::map<std::string_view, std::map<std::uint32_t, double>>; // method -> k -> us

Result<Times> measure(const PlottedPattern& figure, const Run& run) {
  Times times;
  for (const std::uint32_t k : kGridSizes) {
    const auto puts = scale_les3(k, figure.directions);
    if (!puts) return std::unexpected(puts.error());
    for (const std::string_view method : kMethods) {
      run.at(fmt::format("scheduling/{}/{}/{}", figure.name, k, method));
      const auto time = exchange_us(*puts, method, run.parameters);
      if (!time) return std::unexpected(time.error());
      times[method][k] = *time;
    }
  }
  return times;
}

constexpr std::uint32_t kLargest = kGridSizes.back();
constexpr std::uint32_t kSmallest = kGridSizes.front();

// How far the plan that shares links is from what no plan can beat, both as planned.
Result<void> add_distance_to_bound(Reproduction& all, const PlottedPattern& figure, const Run& run) {
  for (const std::uint32_t k : kGridSizes) {
    const auto puts = scale_les3(k, figure.directions);
    if (!puts) return std::unexpected(puts.error());
    const auto problem = halo_on_tofu(*puts, run.parameters.fabric(kFabric));
    if (!problem) return std::unexpected(problem.error());
    all.figures.push_back({fmt::format("scheduling/{}/{}/sharing_to_bound", figure.name, k), std::nullopt,
                           schedule::sharing(*problem).makespan_ns / schedule::lower_bound_ns(*problem), "times"});
  }
  return {};
}

// What the text makes of its curves: an overhead, which it reads off where they begin, and a rate. Ours is that of the bytes which the
// largest grid has more than the smallest; the text sometimes takes all bytes and leaves the overhead out.
void add_derived(Reproduction& all, const PlottedPattern& figure, const Run& run, Times& times) {
  const std::string id = fmt::format("scheduling/{}/", figure.name);
  constexpr double kBytesMore = 224'256 - 16'384; // each way, on every straight link
  const double start = times["bottom-left-4"][kSmallest];
  const auto gb_s = [&](std::string_view method) {
    return kBytesMore / (times[method][kLargest] - times[method][kSmallest]) / 1000;
  };
  if (figure.number == 4) {
    all.figures.push_back({id + "overhead", 18, start, "us"});
    all.figures.push_back({id + "engine", 3.8, gb_s("bottom-left-4"), "GB/s"});
  }
  if (figure.number == 6) {
    all.figures.push_back({id + "overhead", 18, start, "us"});
    all.figures.push_back({id + "link", 4.8, gb_s("round-robin-4"), "GB/s"});
    all.figures.push_back({id + "engine", 4.0, gb_s("bottom-left-4"), "GB/s", Kind::fitted});
  }
  if (figure.number == 8) {
    all.figures.push_back({id + "overhead", 23, start, "us"});
    all.figures.push_back({id + "engine", 3.5, gb_s("bottom-left-4"), "GB/s", Kind::fitted});
  }
  if (figure.number != 10) return;
  // Figures 13 and 14, of small puts: what a further engine's queue costs, and what comes of planning with it.
  const auto problem = halo_on_tofu({}, run.parameters.fabric(kFabric));
  if (problem) all.figures.push_back({id + "queue", 1.0, problem->resources.queue_ns / 1000, "us", Kind::input});
  for (const std::string_view method : {"bottom-left-seeded", "sharing"})
    all.figures.push_back({id + fmt::format("{}/{}_to_bottom-left-4", kSmallest, method), std::nullopt,
                           times[method][kSmallest] / times["bottom-left-4"][kSmallest], "times"});
}

// From which figure a parameter of the model was made.
Kind kind_of(int figure, std::string_view method) {
  const bool engine = figure == 6 && method.starts_with("bottom-left");
  const bool node = figure == 8 && method == "bottom-left-4";
  return engine || node ? Kind::fitted : Kind::predicted;
}

void add_ratios(Reproduction& all, const PlottedPattern& figure, Times& times) {
  const std::string id = fmt::format("scheduling/{}/", figure.name);
  // Without what does not depend on the size.
  const auto net = [&](std::string_view method) { return times[method][kLargest] - times[method][kSmallest]; };
  if (figure.number == 4)
    all.figures.push_back({id + "net/round-robin-1_to_2", 2.0, net("round-robin-1") / net("round-robin-2"), "times"});
  if (figure.number == 6) {
    all.figures.push_back({id + "net/round-robin-2_to_4", 2.0, net("round-robin-2") / net("round-robin-4"), "times"});
    all.figures.push_back(
        {id + "net/round-robin-1_to_bottom-left", 2.0, net("round-robin-1") / net("bottom-left-4"), "times"});
  }
  if (figure.number == 8 || figure.number == 12)
    all.figures.push_back({id + fmt::format("{}/orig_to_bottom-left-4", kLargest), 2.0,
                           times[kOriginal][kLargest] / times["bottom-left-4"][kLargest], "times"});
}

// Those that the text states, once where several methods share one.
void add_reported_points(Chart& chart, const PlottedPattern& figure) {
  Series report{.name = "report", .points = {}, .reported = true};
  for (const std::string_view method : kMethods)
    if (const auto value = reported(figure.number, method)) {
      const std::pair<double, double> point{kLargest, *value};
      if (std::ranges::find(report.points, point) == report.points.end()) report.points.push_back(point);
    }
  if (!report.points.empty()) chart.series.push_back(std::move(report));
}

void add_figure(Reproduction& all, const PlottedPattern& figure, const Run& run, Times& times) {
  Chart chart{.file = fmt::format("scheduling-{}", figure.name),
              .title = fmt::format("Halo exchange, {} (figure {})", figure.name, figure.number),
              .x_name = "vertical grid points k",
              .y_name = "us per exchange"};
  for (const std::string_view method : kMethods) {
    Series& series = chart.series.emplace_back(Series{.name = std::string(method)});
    for (const std::uint32_t k : kGridSizes) {
      const double ours = times[method][k];
      series.points.emplace_back(k, ours);
      all.figures.push_back({fmt::format("scheduling/{}/{}/{}", figure.name, k, method),
                             k == kLargest ? reported(figure.number, method) : std::nullopt, ours, "us",
                             k == kLargest ? kind_of(figure.number, method) : Kind::predicted});
    }
  }
  add_reported_points(chart, figure);
  add_ratios(all, figure, times);
  add_derived(all, figure, run, times);
  all.charts.push_back(std::move(chart));
}

template <std::size_t index>
Result<void> add_plotted(Reproduction& all, const Run& run) {
  const PlottedPattern& figure = kPlotted[index];
  auto times = measure(figure, run);
  if (!times) return std::unexpected(times.error());
  add_figure(all, figure, run, *times);
  return add_distance_to_bound(all, figure, run);
}

Result<void> add_barriers(Reproduction& all, const Run& run) {
  const auto barriers = exchange_us({}, "immediate", run.parameters);
  if (!barriers) return std::unexpected(barriers.error());
  all.figures.push_back({"scheduling/barriers", std::nullopt, *barriers, "us"});
  return {};
}

} // namespace

std::vector<Part> scheduling_parts() {
  return {{{"scheduling/barriers"}, "The two barriers around an exchange", {"tofu"}, add_barriers},
          {{"scheduling/east-west"}, "Halo exchange with east and west", {"tofu"}, add_plotted<0>},
          {{"scheduling/north-south"}, "Halo exchange with north and south", {"tofu"}, add_plotted<1>},
          {{"scheduling/four"}, "Halo exchange in four directions", {"tofu"}, add_plotted<2>},
          {{"scheduling/diagonal"}, "Halo exchange along the diagonals", {"tofu"}, add_plotted<3>},
          {{"scheduling/eight"}, "Halo exchange in all eight directions", {"tofu"}, add_plotted<4>}};
}

Result<Headline> tofu_headline(const Parameters& parameters) {
  Headline headline;
  for (const auto& [k, directions] : {std::pair(kLargest, "ewns"), std::pair(kSmallest, "diagonal")}) {
    const auto puts = scale_les3(k, directions);
    if (!puts) return std::unexpected(puts.error());
    const auto time = exchange_us(*puts, "bottom-left-4", parameters);
    if (!time) return std::unexpected(time.error());
    headline.emplace_back(fmt::format("{} at k = {}", directions, k), *time);
  }
  return headline;
}

} // namespace heddle::tool
