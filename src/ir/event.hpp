// What a network reports back, in terms that name no hardware.
#pragma once

#include "ir/command.hpp"

namespace heddle::ir {

enum class EventKind : std::uint8_t {
  completed,      // a signalled command has ended; cookie is the command's
  remote_written, // a peer has written here and the network announces it; value is what the peer attached
  remote_read,    // a peer has asked to read here, likewise
  peer_failed,    // the peer can no longer be reached; every command on it has ended or will end with peer_lost
  peer_left,      // the same, but the peer left in good order: everything it had sent is here
  // The way to the peer broke, and the peer lives: it is told the same. Every command under way to it ends with connection_lost
  // after this event, and so do later ones until it is attached again. Nothing that either had submitted before arrives later.
  connection_lost,
};

enum class Status : std::uint8_t {
  ok,
  refused,   // the target does not grant access to that place
  peer_lost, // the peer's process is gone, and has not left in good order
  peer_left, // the peer has left the job in good order: where the network can tell
  exhausted, // this process lacks memory or descriptors for it, which vendor_code tells as errno does; nothing was done
  failed,    // anything else; vendor_code says what
  connection_lost, // the way to the peer broke; whether it was carried out is not known
};

// In an event that a process has gone whom this one may not know by number: `value` is its unique id (TranslatorSetup::uid), and
// `cookie` the number under which it had attached this one.
inline constexpr Peer kByUid{kFirstGroup - 1};

struct Event {
  EventKind kind{};
  Status status{};
  Peer peer{};
  std::uint64_t cookie = 0;
  std::uint64_t value = 0;      // old value of an atomic; what an announced command carried
  std::int64_t vendor_code = 0; // errno, or the hardware's own code
};
static_assert(std::is_trivially_copyable_v<Event>);
static_assert(sizeof(Event) == 32);

} // namespace heddle::ir
