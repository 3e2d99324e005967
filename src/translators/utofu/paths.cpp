// What Tofu has to choose from: engines, the column of a, b and c by which a way along X, Y and Z goes, and gates for barriers.
#include "translators/utofu/utofu.hpp"

#include <bit>
#include <cstdlib>

namespace heddle::translators {

std::array<std::uint8_t, 3> Utofu::path_coords(std::uint32_t path) {
  const std::uint32_t column = path - 1;
  return {static_cast<std::uint8_t>(column / 6), static_cast<std::uint8_t>(column / 2 % 3),
          static_cast<std::uint8_t>(column % 2)};
}

// Of TofuD, measured by others on twelve nodes: 1.23 us and bytes / 6.36 GB/s a put, 38.1 GB/s a node, 460 cycles to post.
ir::Resources Utofu::resources() const {
  return {.engines = can_.engines,
          .receive_engines = can_.engines,
          .engine_rate = 6.36,
          .node_rate = 38.1,
          .startup_ns = 500,
          .queue_ns = 210};
}

void Utofu::choose_engine(ir::Peer number, std::uint8_t engine) {
  if (Peer* peer = attached(number); peer != nullptr) peer->engine = engine;
}

void Utofu::choose_path(ir::Peer number, std::uint32_t path) {
  if (Peer* peer = attached(number); peer != nullptr) peer->ids = ids_of(peer->where, path);
}

namespace {

// 28 bits: x, y, z of 8 each, then a, b and c.
std::uint32_t node_number(const std::array<std::uint8_t, 6>& at) {
  return (((std::uint32_t{at[0]} << 8U | at[1]) << 8U | at[2]) << 4U) |
         static_cast<std::uint32_t>((at[3] * 3 + at[4]) * 2 + at[5]);
}

} // namespace

std::uint64_t Utofu::location() const {
  return std::uint64_t{node_number(where_.coords)} + 1;
}

// To the column, along X, Y and Z, and to the end. The size of the machine is not in the API: no way goes round its edge.
std::vector<ir::PathLink> Utofu::route(ir::Peer number, std::uint32_t path) const {
  constexpr double kLinkRate = 6.8;
  const auto rank = static_cast<std::size_t>(number);
  if (rank >= peers_.size() || !peers_[rank].attached) return {};
  std::vector<ir::PathLink> links;
  auto at = where_.coords;
  const auto go = [&](std::size_t axis, std::uint8_t to) {
    while (at[axis] != to) {
      const bool ring = axis == 4; // of three
      const bool up = ring ? (at[axis] + 1) % 3 == to : at[axis] < to;
      links.push_back(
          {.link = node_number(at) << 4U | static_cast<std::uint32_t>(2 * axis + (up ? 1 : 0)), .rate = kLinkRate});
      at[axis] = ring ? to : static_cast<std::uint8_t>(at[axis] + (up ? 1 : -1));
    }
  };
  const auto& end = peers_[rank].where.coords;
  if (path % kPaths != 0 && at != end) {
    const auto column = path_coords(path % kPaths);
    for (std::size_t axis = 0; axis < 3; ++axis) go(3 + axis, column[axis]);
  }
  for (const std::size_t axis : {0U, 1U, 2U, 3U, 5U, 4U}) go(axis, end[axis]);
  return links;
}

// One gate for each step of a barrier, the first of which is also where it starts and ends.
void Utofu::take_gates() {
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  const std::size_t steps = static_cast<std::size_t>(std::bit_width(peers_.size() - 1));
  if (steps == 0 || steps > kMostGates || api_.get_barrier_tnis(&tnis, &count) != UTOFU_SUCCESS || count == 0) return;
  gates_.resize(steps);
  if (api_.alloc_vbg(tnis[rank_ % count], steps, 0, gates_.data()) != UTOFU_SUCCESS) gates_.clear();
  std::free(tnis);
  identity_->gates = gates_.size();
  std::copy(gates_.begin(), gates_.end(), identity_->gate.begin());
}

// Gate i sends to gate i + 1 of this process and of the one that step i tells; the last gates send to the first.
Result<void> Utofu::set_gates(std::span<const ir::GateRound> rounds) {
  const std::size_t count = rounds.size();
  if (gates_.size() != count)
    return std::unexpected(Error{.code = ErrorCode::unsupported, .fact = "Tofu has no barrier gates left"});
  std::vector<utofu_vbg_setting> settings(count);
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t next = (step + 1) % count;
    const auto gate_of = [&](ir::Peer peer, const ir::Address& address, std::size_t gate) -> Result<utofu_vbg_id_t> {
      const auto identity = look_at(peer, address);
      if (!identity) return std::unexpected(identity.error());
      if (identity->gates == count) return identity->gate[gate];
      return std::unexpected(Error{.code = ErrorCode::unsupported, .fact = "a peer has no barrier gates left"});
    };
    const auto to = gate_of(rounds[step].to, rounds[step].to_address, next);
    const auto from = gate_of(rounds[step].from, rounds[step].from_address, step);
    if (!to || !from) return std::unexpected(to ? from.error() : to.error());
    const bool alone = count == 1; // its own signal would be its own end
    settings[step].vbg_id = gates_[step];
    settings[step].dst_lcl_vbg_id = alone ? UTOFU_VBG_ID_NULL : gates_[next];
    settings[step].dst_rmt_vbg_id = *to;
    settings[step].dst_path_coords[0] = UTOFU_PATH_COORD_NULL;
    settings[next].src_lcl_vbg_id = alone ? UTOFU_VBG_ID_NULL : gates_[step];
    settings[next].src_rmt_vbg_id = *from;
  }
  if (const int code = api_.set_vbg(settings.data(), count); code != UTOFU_SUCCESS)
    return std::unexpected(
        Error{.code = ErrorCode::unsupported, .fact = "Tofu does not set barrier gates: code " + std::to_string(code)});
  return {};
}

bool Utofu::begin_barrier() {
  return api_.barrier(gates_[0], 0) == UTOFU_SUCCESS;
}

bool Utofu::barrier_ended() {
  return api_.poll_barrier(gates_[0], 0) == UTOFU_SUCCESS;
}

} // namespace heddle::translators
