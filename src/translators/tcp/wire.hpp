// A connection to another process: made by whichever side needs it first, one for both directions, and one more for each further
// network that both listen at.
#pragma once

#include "auth/introduction.hpp"
#include "base/descriptor.hpp"
#include "base/reserve.hpp"
#include "ir/translator.hpp"
#include "translators/tcp/address.hpp"
#include "translators/tcp/answer_count.hpp"
#include "translators/tcp/frames.hpp"
#include "translators/tcp/inflow.hpp"
#include "translators/tcp/outflow.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::translators::tcp {

// A command that waits for its answer.
struct Asked {
  ir::Peer peer{};
  std::uint64_t cookie = 0;
  std::byte* into = nullptr; // of a get
  std::uint64_t bytes = 0;
  ir::Operation operation{};
  bool signalled = false;
  bool taken = false; // the entry is in use
};

// A get of the peer's that waits for room in the socket.
struct OpenGet {
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  ir::RemotePlace place;
};

enum class WireState : std::uint8_t {
  idle,       // there is no socket
  connecting, // the system makes the connection
  proving,    // both sides show that they know the secret
  greeting,   // this side has said hello, and waits for the answer
  awaiting,   // both sides had connected: the other's connection is about to come
  open,
  draining, // the peer has left in good order: what it had sent by further lanes is still read
};

struct Wire {
  // What waits to leave is counted there, too.
  explicit Wire(std::size_t& waiting_in_all) : out(&waiting_in_all) {}

  std::uint64_t id = 0; // of the other process
  Place place;          // where it listens, once it has been attached or has said so in its hello
  WireState state = WireState::idle;
  base::Descriptor socket;
  bool unwatched = false;                  // the system does not tell of it: it is read in every poll
  bool watched_for_room = false;           // the system is to tell when the socket takes more
  std::optional<ir::Peer> number;          // by which it is known here, while it is attached
  base::BackedVector<std::uint64_t> stays; // numbers by which it has attached this process
  std::uint64_t attempt = 0;               // the last one begun here
  std::uint64_t void_attempts = 0;         // of the peer's: up to this one
  bool has_left = false;                   // it has said goodbye
  bool broke = false;                      // it was open, and is made again to see whether the peer lives
  std::uint64_t told_attempt = 0;          // in the peer's hello that this one came with; 0: it was made from here
  int tries = 0;                           // to connect, since it was last open or given up
  bool held = false;                       // its frames wait until the loss of the one before has been told
  bool listed = false;                     // among those that have something to send
  std::chrono::steady_clock::time_point deadline; // while the connection is made

  std::unique_ptr<auth::Introduction> introduction; // while proving

  Outflow out;
  std::uint64_t confirmed = 0; // bytes of it, when last asked, that the other system had got: all, or it is not known
  AnswerCount answers;         // in it
  base::BackedVector<Frame> owed; // answers and notices that there was no memory for in `out`: commands wait for them
  ir::MemoryKey lent{};           // what it borrows from, where it does
  std::uint64_t last_sent_at = 0; // the poll after which the last frame was sent
  std::uint32_t sent_since_poll = 0; // frames after that
  bool gathers = false;              // the system lets small ones wait for each other
  bool must_confirm = false;         // the peer lets frames wait until what it has sent is confirmed
  Inflow in;
  std::vector<Asked> asked; // by number
  std::size_t asked_count = 0;
  std::uint64_t asked_bytes = 0; // that gets among them will bring
  base::BackedDeque<OpenGet> gets;
  std::array<std::byte, sizeof(Welcome)> answer{}; // to the hello
  std::size_t answered = 0;

  // The frame under way.
  bool refused = false; // its put is not granted

  // Several networks: the pair's first connection has the further ones.
  std::vector<std::unique_ptr<Wire>> lanes; // lane i at i - 1, made once both sides want it
  std::size_t last_lane = 0;                // that a large get went by
  Wire* first = nullptr;                    // of a further lane: the pair's first connection
  std::uint32_t lane = 0;

  [[nodiscard]] Wire& pair() { return first == nullptr ? *this : *first; }
  [[nodiscard]] bool has_open_lane() const {
    return std::ranges::any_of(lanes, [](const auto& each) { return each->state == WireState::open; });
  }
  [[nodiscard]] bool has_to_send() const { return out.waiting() > 0 || !owed.empty() || !gets.empty(); }
  [[nodiscard]] int socket_for_frames() const { return state == WireState::open ? socket.number() : -1; }
};

// Somebody has come in, and has not said who it is.
struct Newcomer {
  base::Descriptor socket;
  std::array<std::byte, sizeof(Hello)> hello{};
  std::size_t heard = 0;
  bool unwatched = false; // the system has no room to: it is looked at by the clock
  [[nodiscard]] bool has_said_all() const { return heard == hello.size(); }
  std::chrono::steady_clock::time_point deadline;
};

} // namespace heddle::translators::tcp
