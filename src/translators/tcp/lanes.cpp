// Several networks between two processes: one connection by each, of which the first makes the others.
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include <algorithm>

namespace heddle::translators {

using tcp::Wire;
using tcp::WireState;

namespace {

// From so many bytes on a get goes by whichever connection has least to bring.
constexpr std::uint64_t kWorthALane = 32 << 10;
// Where the system does not know: 10 Gbit/s.
constexpr double kLikelyRate = 1.25e9;
// Of a frame, from submit to the first byte on the link: what a system call takes.
constexpr double kStartupNs = 5'000;

} // namespace

const in6_addr* Tcp::source_of(const Wire& wire) const {
  if (wire.first == nullptr) return nullptr;
  const net::Interface& own = listening_.at[wire.lane];
  return own.leads_to(wire.place.endpoint.host) ? &own.host : nullptr;
}

Wire& Tcp::lane_of(Wire& first, std::uint32_t lane) {
  while (first.lanes.size() < lane) {
    auto& made = first.lanes.emplace_back(std::make_unique<Wire>(waiting_in_all_));
    made->id = first.id;
    made->first = &first;
    made->lane = static_cast<std::uint32_t>(first.lanes.size());
  }
  return *first.lanes[lane - 1];
}

void Tcp::call_lanes(Wire& first, const tcp::Welcome& welcome) {
  for (std::uint32_t i = 1; i < doors_.size() && welcome.further[i - 1].port != 0; ++i) {
    Wire& lane = lane_of(first, i);
    lane.place = first.place;
    lane.place.endpoint = welcome.further[i - 1].endpoint();
    if (auto begun = connect(lane); !begun) log_.warning("one connection fewer: " + begun.error().message());
  }
}

bool Tcp::hear_lane(tcp::Newcomer& newcomer, const tcp::Hello& hello) {
  const auto known = wires_.find(hello.id);
  if (hello.wanted != self_.id || hello.lane >= doors_.size() || known == wires_.end()) return true;
  Wire& first = *known->second;
  // It may be one of a connection that has been replaced since.
  if (first.state != WireState::open || first.told_attempt == 0 || first.told_attempt != hello.attempt) return true;
  Wire& lane = lane_of(first, static_cast<std::uint32_t>(hello.lane));
  if (lane.state != WireState::idle) return true;
  tcp::Welcome welcome{.verdict = tcp::Verdict::welcome};
  iovec whole{.iov_base = &welcome, .iov_len = sizeof welcome};
  net::send_some(newcomer.socket.number(), {&whole, 1});
  take_over(lane, newcomer);
  return true;
}

// One that was never open is not missed. Of an open one nobody knows what was lost, so the pair begins anew.
void Tcp::end_lane(Wire& lane) {
  Wire& first = *lane.first;
  const bool was_open = lane.state == WireState::open;
  close_socket(lane);
  if (!was_open) return;
  const bool in_good_order = lane.has_left;
  if (first.state == WireState::open && !in_good_order) return end_wire(first);
  if (first.state != WireState::draining || (in_good_order && first.has_open_lane())) return;
  let_go_of_socket(first);
  settle(first, in_good_order ? ir::EventKind::peer_left : ir::EventKind::peer_failed);
}

Wire& Tcp::lane_for(Wire& first, const ir::Command& command) {
  if (first.lanes.empty()) return first;
  if (command.send_engine != ir::kAnyEngine) {
    const std::size_t lane = command.send_engine % (first.lanes.size() + 1);
    return lane > 0 && first.lanes[lane - 1]->state == WireState::open ? *first.lanes[lane - 1] : first;
  }
  if (command.operation != ir::Operation::get || command.bytes < kWorthALane) return first;
  // Of equals, the one after the last.
  const std::size_t count = first.lanes.size() + 1;
  std::size_t best = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t i = 1; i <= count; ++i) {
    const std::size_t lane = (first.last_lane + i) % count;
    const Wire& each = lane == 0 ? first : *first.lanes[lane - 1];
    if (each.state != WireState::open || each.asked_bytes >= least) continue;
    best = lane;
    least = each.asked_bytes;
  }
  first.last_lane = best;
  return best == 0 ? first : *first.lanes[best - 1];
}

ir::Resources Tcp::resources() const {
  double slowest = 0;
  for (const net::Interface& each : listening_.at) {
    const double rate = each.link_rate().value_or(kLikelyRate) * 1e-9; // in bytes a nanosecond
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
  }
  return {.engines = capabilities_.engines,
          .receive_engines = capabilities_.engines,
          .engine_rate = slowest,
          .startup_ns = kStartupNs,
          .balances_itself = true}; // by lane_for
}

} // namespace heddle::translators
