// The connection to one other process: made by whichever side needs it first, one for both directions.
#pragma once

#include "auth/introduction.hpp"
#include "base/descriptor.hpp"
#include "ir/translator.hpp"
#include "translators/tcp/address.hpp"
#include "translators/tcp/frames.hpp"
#include "translators/tcp/inflow.hpp"
#include "translators/tcp/outflow.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
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
};

struct Wire {
  std::uint64_t id = 0; // of the other process
  Place place;          // where it listens, once it has been attached
  WireState state = WireState::idle;
  base::Descriptor socket;
  bool unwatched = false;                         // the system does not tell of it: it is read in every poll
  bool watched_for_room = false;                  // the system is to tell when the socket takes more
  std::optional<ir::Peer> number;                 // by which it is known here, while it is attached
  std::vector<std::uint64_t> stays;               // numbers by which it has attached this process
  std::uint64_t attempt = 0;                      // the last one begun here
  std::uint64_t void_attempts = 0;                // of the peer's: up to this one
  bool has_left = false;                          // it has said goodbye
  bool broke = false;                             // it was open, and is made again to see whether the peer lives
  int tries = 0;                                  // of that
  bool held = false;                              // its frames wait until the loss of the one before has been told
  bool listed = false;                            // among those that have something to send
  std::chrono::steady_clock::time_point deadline; // while the connection is made

  std::unique_ptr<auth::Introduction> introduction; // while proving

  Outflow out;
  ir::MemoryKey lent{};              // what it borrows from, where it does
  std::uint64_t last_sent_at = 0;    // the poll after which the last frame was sent
  std::uint32_t sent_since_poll = 0; // frames after that
  bool gathers = false;              // the system lets small ones wait for each other
  bool must_confirm = false;         // the peer lets frames wait until what it has sent is confirmed
  Inflow in;
  std::vector<Asked> asked; // by number
  std::size_t asked_count = 0;
  std::deque<OpenGet> gets;
  std::array<std::byte, sizeof(Welcome)> answer{}; // to the hello
  std::size_t answered = 0;

  // The frame under way.
  bool refused = false; // its put is not granted

  [[nodiscard]] int socket_for_frames() const { return state == WireState::open ? socket.number() : -1; }
};

// Somebody has come in, and has not said who it is.
struct Newcomer {
  base::Descriptor socket;
  std::array<std::byte, sizeof(Hello)> hello{};
  std::size_t heard = 0;
  std::chrono::steady_clock::time_point deadline;
};

} // namespace heddle::translators::tcp
