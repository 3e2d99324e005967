// The report on RDMA scheduling on the K computer: the halo exchange of SCALE-LES3 in five sets of directions, eleven grid sizes and
// several algorithms, on the simulated Tofu, through the library. 48 processes on a periodic grid of 6 x 8, barriers around.
// Here the exchanges are run; what is said of them is in reproduce_scheduling_claims.cpp.
#include "reproduce_scheduling.hpp"

#include <heddle/simulation.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace heddle::tool {
namespace scheduling {
namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;

constexpr std::uint32_t kRowCount = 6;
constexpr std::uint32_t kColumnCount = 8;
constexpr int kRounds = 4;                // measured, after one that is not
constexpr std::uint64_t kWhole = 1 << 20; // no message of these is larger

// All run alike, with barriers before the first put and after the last, which messages would not need, and nothing is planned but by
// the method: barriers and `orig` least of all. Only `orig-default` has the library's default options.
constexpr std::string_view kNoteOnMethods =
    "nothing is planned but by the method, and nothing is cut (options schedule=immediate and chunk_bytes=1MiB, so "
    "that messages go whole, as puts do); orig-planned is the same messages with schedule=planned, and orig-default "
    "has the library's default options (schedule=planned, chunk_bytes=128KiB)";
Options options_of(std::string_view method) {
  if (method == kOriginalDefault) return {};
  return {.chunk_bytes = kWhole, .schedule = method == kOriginalPlanned ? "planned" : "immediate"};
}

constexpr std::array<PlottedPattern, 5> kPlotted{{{4, "east-west", "ew"},
                                                  {6, "north-south", "ns"},
                                                  {8, "four", "ewns"},
                                                  {10, "diagonal", "diagonal"},
                                                  {12, "eight", "all"}}};

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
  auto world = simulation::World::create({.fabric = parameters.fabric(kFabric),
                                          .peers = kRowCount * kColumnCount,
                                          .nodes = nodes_on_torus(),
                                          .options = parameters.options(options_of(method))});
  if (!world) return std::unexpected(world.error());
  Clock clock;
  const auto outcome = world->run([&](Peer& peer) -> Task {
    Halo halo(puts);
    if (method.starts_with(kOriginal))
      co_await original(peer, halo, clock);
    else
      co_await planned(peer, halo, std::string(method), clock);
  });
  if (!outcome) return std::unexpected(outcome.error());
  if (!outcome->errors.empty())
    return std::unexpected(Error{.code = ErrorCode::peer_failed, .fact = outcome->errors.front()});
  return clock.us_per_round();
}

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

template <std::size_t index>
Result<void> add_plotted(Reproduction& all, const Run& run) {
  const PlottedPattern& figure = kPlotted[index];
  auto times = measure(figure, run);
  if (!times) return std::unexpected(times.error());
  const auto barriers = exchange_us({}, "immediate", run.parameters);
  if (!barriers) return std::unexpected(barriers.error());
  return add_pattern(all, figure, run, *times, *barriers);
}

Result<void> add_barriers(Reproduction& all, const Run& run) {
  const auto barriers = exchange_us({}, "immediate", run.parameters);
  if (!barriers) return std::unexpected(barriers.error());
  all.figures.push_back({"scheduling/barriers", std::nullopt, *barriers, "us"});
  return {};
}

} // namespace

std::vector<Part> parts() {
  const auto halo = [](std::string_view id, std::string_view title, auto add) {
    return Part{{id}, title, {"tofu", "library"}, add, kNoteOnMethods, {"library.chunk_bytes"}};
  };
  return {{{"scheduling/barriers"}, "The two barriers around an exchange", {"tofu", "library"}, add_barriers},
          halo("scheduling/east-west", "Halo exchange with east and west", add_plotted<0>),
          halo("scheduling/north-south", "Halo exchange with north and south", add_plotted<1>),
          halo("scheduling/four", "Halo exchange in four directions", add_plotted<2>),
          halo("scheduling/diagonal", "Halo exchange along the diagonals", add_plotted<3>),
          halo("scheduling/eight", "Halo exchange in all eight directions", add_plotted<4>)};
}

Result<Headline> headline_of_puts(const Parameters& parameters) {
  Headline headline;
  for (const auto& [k, directions] : {std::pair(kLargestGrid, "ewns"), std::pair(kSmallestGrid, "diagonal")}) {
    const auto puts = scale_les3(k, directions);
    if (!puts) return std::unexpected(puts.error());
    const auto time = exchange_us(*puts, "bottom-left-4", parameters);
    if (!time) return std::unexpected(time.error());
    headline.emplace_back(fmt::format("{} at k = {}", directions, k), *time);
  }
  return headline;
}

// Messages, which is where the library's own options count: as a program has them, and an all-to-all in packets.
Result<Headline> headline_of_messages(const Parameters& parameters) {
  Headline headline;
  for (const std::uint32_t k : {kLargestGrid, kSmallestGrid}) {
    const auto puts = scale_les3(k, "all");
    if (!puts) return std::unexpected(puts.error());
    const auto time = exchange_us(*puts, kOriginalDefault, parameters);
    if (!time) return std::unexpected(time.error());
    headline.emplace_back(fmt::format("{} at k = {}", kOriginalDefault, k), *time);
  }
  const auto packets = infiniband_headline(parameters);
  if (!packets) return std::unexpected(packets.error());
  headline.insert(headline.end(), packets->begin(), packets->end());
  return headline;
}

} // namespace scheduling

std::vector<Part> scheduling_parts() {
  return scheduling::parts();
}

Result<Headline> tofu_headline(const Parameters& parameters) {
  return scheduling::headline_of_puts(parameters);
}

Result<Headline> library_headline(const Parameters& parameters) {
  return scheduling::headline_of_messages(parameters);
}

} // namespace heddle::tool
