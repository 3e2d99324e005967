#include "workloads.hpp"

#include "base/options.hpp"
#include "base/size_text.hpp"
#include "world/setup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {

namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;

constexpr std::array<std::string_view, 5> kNames = {"ping-pong", "stream", "all-to-all", "halo", "random"};
constexpr std::uint32_t kUnderWay = 16; // messages of a stream

// Memory that all processes of an all-to-all share: nobody looks at what arrives, and each with its own would need blocks
// for the square of their number.
struct Buffers {
  explicit Buffers(std::size_t bytes) : out(bytes), in(bytes) {}
  std::vector<std::byte> out;
  std::vector<std::byte> in;
};

// When the processes began and ended what is measured.
struct Clock {
  Time begin = Time::max();
  Time end = Time::min();
  void began(Time at) { begin = std::min(begin, at); }
  void ended(Time at) { end = std::max(end, at); }
};

Request checked(const Result<Request>& request) {
  if (!request) throw std::runtime_error(request.error().message());
  return *request;
}
void check(ErrorCode code) {
  if (code != ErrorCode::ok) throw std::runtime_error("a message ended with " + std::string(to_string(code)));
}

using Kind = traffic::JobStep::Kind;

void note(const WorkloadRun& job, const Peer& peer, traffic::JobStep step) {
  if (!job.record) return;
  step.rank = std::to_underlying(peer.rank());
  job.record(step);
}
Request begin_send(const WorkloadRun& job, Peer& peer, std::uint32_t to, std::uint64_t tag,
                   std::span<const std::byte> data) {
  note(job, peer, {.kind = Kind::send, .with = to, .bytes = data.size(), .tag = tag});
  return checked(peer.context().send(Rank{to}, Tag{tag}, ConstLayout(data.data(), data.size())));
}
Request begin_receive(const WorkloadRun& job, Peer& peer, std::uint32_t from, std::uint64_t tag,
                      std::span<std::byte> data) {
  note(job, peer, {.kind = Kind::receive, .with = from, .bytes = data.size(), .tag = tag});
  return checked(peer.context().receive({.source = Rank{from}, .tag = Tag{tag}}, Layout(data.data(), data.size())));
}
Task wait_all(const WorkloadRun& job, Peer& peer, std::span<const Request> requests) {
  note(job, peer, {.kind = Kind::wait, .with = {}});
  check(co_await peer.wait_all(requests));
}
Task meet(const WorkloadRun& job, Peer& peer) {
  note(job, peer, {.kind = Kind::barrier, .with = {}});
  check((co_await peer.barrier()).code);
}

Task ping_pong(const WorkloadRun& job, Peer& peer, std::vector<std::byte>& buffer) {
  const std::uint32_t last = peer.size() - 1;
  const std::uint32_t own = std::to_underlying(peer.rank());
  if (own != 0 && own != last) co_return;
  const std::uint32_t other = own == 0 ? last : 0;
  for (const bool sends : {own == 0, own != 0}) {
    const std::array requests{sends ? begin_send(job, peer, other, 1, buffer)
                                    : begin_receive(job, peer, other, 1, buffer)};
    co_await wait_all(job, peer, requests);
  }
}

Task stream(const WorkloadRun& job, Peer& peer, std::vector<std::byte>& buffer) {
  const std::uint32_t last = peer.size() - 1;
  if (peer.rank() != Rank{0} && std::to_underlying(peer.rank()) != last) co_return;
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kUnderWay; ++i) {
    const std::span piece(buffer.data() + i * job.bytes, job.bytes);
    requests.push_back(peer.rank() == Rank{0} ? begin_send(job, peer, last, 1, piece)
                                              : begin_receive(job, peer, 0, 1, piece));
  }
  co_await wait_all(job, peer, requests);
}

Task all_to_all(const WorkloadRun& job, Peer& peer, std::uint64_t bytes, Buffers& buffers) {
  note(job, peer, {.kind = Kind::alltoall, .with = {}, .bytes = bytes});
  const std::span out = std::span(buffers.out).first(bytes * peer.size());
  const std::span in = std::span(buffers.in).first(bytes * peer.size());
  check((co_await peer.wait(checked(peer.context().start_alltoall(out, in)))).code);
}

struct Grid {
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
};
Grid grid_of(std::uint32_t size) {
  Grid grid{.rows = 1, .columns = size};
  for (std::uint32_t rows = 1; rows * rows <= size; ++rows)
    if (size % rows == 0) grid = {.rows = rows, .columns = size / rows};
  return grid;
}

Task halo(const WorkloadRun& job, Peer& peer, std::vector<std::byte>& buffer) {
  const std::uint64_t bytes = job.bytes;
  const Grid grid = grid_of(peer.size());
  const std::uint32_t row = std::to_underlying(peer.rank()) / grid.columns;
  const std::uint32_t column = std::to_underlying(peer.rank()) % grid.columns;
  const auto at = [&grid](std::uint32_t r, std::uint32_t c) { return r % grid.rows * grid.columns + c % grid.columns; };
  const std::array neighbours = {at(row, column + 1), at(row, column + grid.columns - 1), at(row + 1, column),
                                 at(row + grid.rows - 1, column)};
  // What goes to the east comes from the west: one tag a direction.
  constexpr std::array<std::size_t, 4> kOpposite = {1, 0, 3, 2};
  std::vector<Request> requests;
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    requests.push_back(
        begin_receive(job, peer, neighbours[i], 10 + kOpposite[i], std::span(buffer.data() + (4 + i) * bytes, bytes)));
    requests.push_back(begin_send(job, peer, neighbours[i], 10 + i, std::span(buffer.data() + i * bytes, bytes)));
  }
  co_await wait_all(job, peer, requests);
}

// Everybody knows from the seed who sends to whom.
Task random_traffic(const WorkloadRun& job, Peer& peer, std::uint32_t round, std::vector<std::byte>& buffer) {
  std::mt19937_64 random(job.seed * 1'000'003 + round);
  std::vector<Request> requests;
  for (std::uint32_t from = 0; from < peer.size(); ++from) {
    const auto to = static_cast<std::uint32_t>((from + 1 + random() % (peer.size() - 1)) % peer.size());
    if (to == std::to_underlying(peer.rank()))
      requests.push_back(begin_receive(job, peer, from, 1, std::span(buffer.data() + job.bytes, job.bytes)));
    if (from == std::to_underlying(peer.rank()))
      requests.push_back(begin_send(job, peer, to, 1, std::span(buffer.data(), job.bytes)));
  }
  co_await wait_all(job, peer, requests);
}

Task one_round(Peer& peer, const WorkloadRun& job, std::uint32_t round, std::vector<std::byte>& buffer,
               Buffers& shared) {
  switch (job.workload) {
    case Workload::ping_pong: return ping_pong(job, peer, buffer);
    case Workload::stream: return stream(job, peer, buffer);
    case Workload::all_to_all:
      return all_to_all(job, peer, round == 0 && job.first_bytes != 0 ? job.first_bytes : job.bytes, shared);
    case Workload::halo: return halo(job, peer, buffer);
    case Workload::random: return random_traffic(job, peer, round, buffer);
  }
  return ping_pong(job, peer, buffer);
}

std::uint64_t messages_of_a_round(const WorkloadRun& job, std::uint32_t size) {
  switch (job.workload) {
    case Workload::ping_pong: return 2;
    case Workload::stream: return kUnderWay;
    case Workload::all_to_all: return std::uint64_t{size} * (size - 1);
    case Workload::halo: return std::uint64_t{size} * 4;
    case Workload::random: return size;
  }
  return 0;
}

// Messages that a process has memory for.
std::size_t buffer_pieces(Workload workload) {
  switch (workload) {
    case Workload::ping_pong: return 1;
    case Workload::stream: return kUnderWay;
    case Workload::all_to_all: return 0; // shared by all
    case Workload::halo: return 8;
    case Workload::random: return 2;
  }
  return 0;
}

Task run_rounds(Peer& peer, const WorkloadRun& job, Clock& clock, Buffers& shared) {
  std::vector<std::byte> buffer(buffer_pieces(job.workload) * job.bytes);
  for (std::uint32_t round = 0; round <= job.rounds; ++round) { // the first makes the connections
    if (round == 1) {
      co_await meet(job, peer);
      clock.began(peer.now());
    }
    co_await one_round(peer, job, round, buffer, shared);
  }
  clock.ended(peer.now());
  co_await meet(job, peer);
}

} // namespace

std::span<const std::string_view> workload_names() {
  return kNames;
}

Options options_for(std::uint64_t processes) {
  constexpr std::uint64_t kAllRings = std::uint64_t{1} << 27U;
  constexpr std::uint64_t kSmallest = 1024;
  constexpr std::uint64_t kEach = 2; // beside the ring, as much to put payloads from
  const std::uint64_t fair = kAllRings / std::max<std::uint64_t>(kEach * processes * processes, 1);
  Options options;
  if (fair < base::Settings{}.ring_bytes) options.ring_bytes = std::max(std::bit_floor(fair), kSmallest);
  return options;
}

Result<Measured> run_workload(simulation::World& world, const WorkloadRun& job) {
  if (world.size() < 2)
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "a workload needs at least 2 processes"});
  const std::uint64_t each = job.workload == Workload::all_to_all ? 2 : buffer_pieces(job.workload);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t needed = job.bytes > most / each / world.size() ? most : each * job.bytes * world.size();
  if (auto enough = simulation::check_memory("messages of " + base::print_size(job.bytes), needed); !enough)
    return std::unexpected(std::move(enough.error()));
  Clock clock;
  Buffers shared(job.workload == Workload::all_to_all ? job.bytes * world.size() : 0);
  auto outcome = world.run([&](Peer& peer) { return run_rounds(peer, job, clock, shared); });
  if (!outcome) return std::unexpected(std::move(outcome.error()));
  if (!outcome->errors.empty())
    return std::unexpected(Error{.code = ErrorCode::peer_failed, .fact = outcome->errors.front()});
  return Measured{.time = clock.end - clock.begin,
                  .bytes = messages_of_a_round(job, world.size()) * job.rounds * job.bytes,
                  .outcome = std::move(*outcome)};
}

} // namespace heddle::tool
