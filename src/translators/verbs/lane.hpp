// What a process knows of a peer: lanes, that is queue pairs that carry its own commands there, and those that carry the peer's here.
//
// Each direction has queue pairs of its own. So a command that the other side refuses, which the adapter answers by closing the queue
// pair at both ends, leaves what comes the other way alone; and of those behind it it is known that they were not carried out.
#pragma once

#include "translators/verbs/calls.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::translators::verbs {

using Clock = std::chrono::steady_clock;

// A command that is on its way, in memory that the adapter reads: it may have to be sent again.
struct Slot {
  static constexpr std::size_t kImageBytes = 320;

  ir::Command command;
  ibv_mr* pinned = nullptr;
  Memory::Pool::Piece large{}; // contents that the image has no room for
  std::uint64_t local = 0;     // command.local as the adapter knows it, where it reads or writes there itself
  std::uint32_t local_key = 0;
  bool direct = false;                                 // it does
  bool told = false;                                   // the event was given already
  alignas(8) std::array<std::byte, kImageBytes> image; // NOLINT: what it holds is written when needed
};
static_assert(sizeof(Slot) <= 512);

struct Party;

// state    | input                                   | next
// closed   | a command, room for a queue pair        | opening: calls `open` until `opened` comes
// opening  | opened                                  | open: all that waits is sent
// open     | a command was refused                   | opening, next attempt: those behind it are sent again
// open     | room is needed, nothing is under way    | closing: calls `close` until `closed` comes
// closing  | closed                                  | closed
// closing  | a command                               | opening, next attempt, which says the same
// any      | the way broke, or the peer has gone     | closed
struct Lane {
  enum class State : std::uint8_t { closed, opening, open, closing };
  static constexpr std::uint32_t kDepth = 64;

  Party* party = nullptr;
  std::uint32_t index = 0; // among all of this process
  std::uint32_t path = 0;
  std::uint8_t port = 0;  // which of this process's,
  std::uint8_t there = 0; // and of the peer's, if it has so many
  State state = State::closed;
  bool make_room = false; // to be closed as soon as nothing is under way
  bool tending = false;   // on the list of those that call
  ibv_qp* pair = nullptr;
  std::uint32_t attempt = 0;
  std::uint32_t sequence = 0;
  std::uint32_t inline_bytes = 0;
  Clock::time_point begun{}; // to open
  Clock::time_point call_again{};
  std::chrono::milliseconds pause{};
  std::uint32_t calls_left = 0; // of those that `closed` is waited for with
  std::uint64_t last_used = 0;
  // Slots: done <= sent <= filled, all counted since the lane was made.
  Memory::Pool::Piece memory{};
  std::uint32_t done = 0;
  std::uint32_t sent = 0;
  std::uint32_t filled = 0;
  std::uint32_t unconfirmed = 0; // sent since the last for which the adapter was to tell

  // For the peer.
  [[nodiscard]] std::uint32_t number() const { return number_of(port, there, path); }
  static constexpr std::uint32_t number_of(std::uint32_t port, std::uint32_t there, std::uint32_t path) {
    return port << 12U | there << 8U | path;
  }
  static constexpr std::uint32_t there_of(std::uint32_t number) { return number >> 8U & 0xfU; }
  static constexpr std::uint32_t path_of(std::uint32_t number) { return number & 0xffU; } // no port has more
  static constexpr std::uint32_t kNumbers = 1U << 16U;

  [[nodiscard]] Slot& slot(std::uint32_t number) const { return reinterpret_cast<Slot*>(memory.data)[number % kDepth]; }
  [[nodiscard]] bool idle() const { return done == filled; }
};

// A queue pair that carries a peer's commands here.
struct Incoming {
  Party* party = nullptr;
  std::uint32_t lane = 0; // its number
  std::uint32_t attempt = 0;
  ibv_qp* pair = nullptr;
  std::uint64_t last_used = 0;
  std::uint8_t port = 0; // which of this process's
  std::uint8_t back = 0; // the path by which it answers
};

// Another process, or this one.
struct Party {
  enum class State : std::uint8_t {
    there,
    breaking, // the way broke; whether the other side lives is being asked
    broken,   // it lives; nothing goes until it is attached again
    left,
    failed,
  };
  Place place{};
  std::optional<ir::Peer> number;
  State state = State::there;
  bool attached = false;
  std::uint32_t own_break = 0;   // number of the last break that was noticed here,
  std::uint32_t heard_break = 0; // and of the last that the other side has told of
  Clock::time_point call_again{};
  Clock::time_point give_up{};
  std::optional<Clock::time_point>
      leaves_at{}; // it has said that it leaves; told then, or when all is known of commands to it
  std::optional<Clock::time_point> no_way{}; // since when the adapter knows none
  std::optional<std::uint32_t> chosen;       // path that is planned, between the first ports
  std::uint8_t port = 0;                     // by which commands go that name none
  // When it was first asked whether the end of contact is still to be told of: Verbs::empty_looks_, and the time.
  mutable std::optional<std::pair<std::uint64_t, Clock::time_point>> asked_at;
  std::vector<std::unique_ptr<Lane>> lanes;
  // In an open world: by which numbers it has attached this process, and what it is to be told of the same kind.
  std::vector<std::uint32_t> stays;
  std::vector<ir::Command> notices;
  std::vector<std::unique_ptr<Incoming>> incoming;

  [[nodiscard]] bool gone() const { return state == State::left || state == State::failed; }
};

} // namespace heddle::translators::verbs
