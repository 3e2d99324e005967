// How connections end, and what is told of it.
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include <cerrno>
#include <utility>

namespace heddle::translators {

using tcp::Wire;
using tcp::WireState;

namespace {

constexpr int kTriesAfterBreak = 64;

} // namespace

void Tcp::tell_end(Wire& wire, std::uint64_t stay, bool left) {
  events_.push({.kind = left ? ir::EventKind::peer_left : ir::EventKind::peer_failed,
                .status = left ? ir::Status::peer_left : ir::Status::peer_lost,
                .peer = ir::kByUid,
                .cookie = stay,
                .value = wire.id});
}

void Tcp::close_socket(Wire& wire) {
  if (wire.state == WireState::open) { // what was under way is lost
    wire.out.clear();
    wire.confirmed = 0;
    wire.answers = {};
    wire.owed.clear();
    wire.gets.clear();
    wire.in = {};
    wire.broke = wire.first == nullptr;
  }
  if (wire.socket.open()) unwatch(wire); // a child of this process may hold it, too: then closing ends nothing
  wire.socket.reset();
  wire.introduction.reset();
  wire.state = WireState::idle;
  wire.unwatched = false;
  wire.gathers = false;
  wire.must_confirm = false;
  if (hot_ == &wire) hot_ = nullptr;
}

void Tcp::let_go_of_socket(Wire& wire) {
  close_socket(wire);
  for (auto& lane : wire.lanes) {
    close_socket(*lane);
    lane->has_left = false;
  }
}

void Tcp::end_wire(Wire& wire) {
  if (wire.first != nullptr) return end_lane(wire);
  if (wire.has_left && wire.has_open_lane()) {
    close_socket(wire);
    wire.state = WireState::draining;
    return;
  }
  let_go_of_socket(wire);
  if (wire.has_left)
    settle(wire, ir::EventKind::peer_left);
  else
    find_out(wire);
}

void Tcp::give_up(Wire& wire) {
  if (wire.first != nullptr) return end_lane(wire);
  let_go_of_socket(wire);
  settle(wire, ir::EventKind::peer_failed);
}

// Whoever has died listens no more. A process that is about to may still let somebody in, and a connection may break while it is
// made: so one that is closed is not enough.
Result<void> Tcp::connect_again(Wire& wire) {
  Result<void> begun = std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "the connection broke too often"});
  while (!begun && wire.tries < kTriesAfterBreak) {
    ++wire.tries;
    begun = connect(wire);
    if (!begun && !net::is_passing(begun.error().system_code)) break;
  }
  return begun; // what becomes of it is found out there
}

void Tcp::find_out(Wire& wire) {
  const auto begun = connect_again(wire);
  if (begun) return;
  // Without a descriptor it cannot be found out: the peer may be alive.
  const bool unknown = begun.error().code == ErrorCode::out_of_descriptors;
  settle(wire, unknown ? ir::EventKind::connection_lost : ir::EventKind::peer_failed);
}

void Tcp::settle(Wire& wire, ir::EventKind kind) {
  const ir::Status status = kind == ir::EventKind::peer_left     ? ir::Status::peer_left
                            : kind == ir::EventKind::peer_failed ? ir::Status::peer_lost
                                                                 : ir::Status::connection_lost;
  const auto commands_end = [&] {
    for_each_lane(wire, [&](Wire& lane) {
      lane.out.clear();
      lane.confirmed = 0;
      lane.answers = {};
      lane.owed.clear();
      end_asked(lane, status);
      lane.asked.clear();
      lane.asked_count = 0;
      lane.asked_bytes = 0;
    });
  };
  const bool lost = kind == ir::EventKind::connection_lost;
  if (!lost) commands_end(); // otherwise after the event, as its declaration says
  if (wire.state == WireState::draining) wire.state = WireState::idle;
  wire.has_left = false;
  wire.broke = false;
  wire.tries = 0;
  // A peer that lives and has a number here attaches anew when it wants to; of others, what they had attached is over.
  const auto stays = std::exchange(wire.stays, {});
  if (!lost || !wire.number)
    for (const std::uint64_t stay : stays) tell_end(wire, stay, kind != ir::EventKind::peer_failed);
  if (wire.number || !is_open_world()) {
    const ir::Peer peer = wire.number ? *wire.number : ir::Peer{static_cast<std::uint32_t>(wire.id - 1)};
    if (wire.number) {
      attached_.erase(static_cast<std::uint32_t>(peer));
      gone_[static_cast<std::uint32_t>(peer)] = status;
      wire.number.reset();
    }
    events_.push({.kind = kind, .status = status, .peer = peer});
  }
  if (lost) commands_end();
}

void Tcp::release_held() {
  for (Wire* wire : std::exchange(held_, {})) {
    wire->held = false;
    if (wire->state == WireState::open) handle(*wire);
  }
}

} // namespace heddle::translators
