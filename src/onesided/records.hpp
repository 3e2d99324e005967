// The records of one-sided operations: asking for an area, granting and revoking it, scattered pieces, relays, locks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::onesided {

// area_ask: the peer wants to use an area of this process.
struct AreaAsk {
  std::uint64_t id = 0;
};
// area_grant: the answer. code is an ErrorCode; the rest counts when it is ok.
struct AreaGrant {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t code = 0;
  std::uint32_t traits = 0;

  static constexpr std::uint32_t kAtomics = 1;  // atomics work there
  static constexpr std::uint32_t kEveryone = 2; // it is opened to all
  static constexpr std::uint32_t kLock = 4;     // it is a lock
};
// area_revoked: an area that was granted is closed.
struct AreaRevoked {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
};
// area_signal: a push has landed. The key shows that it went to the area that is open now.
struct AreaSignal {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t label = 0;
  std::uint64_t bytes = 0;
};
// area_scatter: what follows is, again and again, a ScatterRun and its bytes.
struct AreaScatter {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;   // that the runs count from
  std::uint64_t transfer = 0; // comes back
};
struct ScatterRun {
  std::uint32_t at = 0;
  std::uint32_t bytes = 0;
};
// area_scattered: the answer. code is an ErrorCode.
struct AreaScattered {
  std::uint64_t transfer = 0;
  std::uint64_t code = 0;
};
// area_relay: a part of an mcast that is handed on from receiver to receiver (relays.hpp). What follows is a RelayReceiver for each
// whom it is for, the one it is sent to first, and then runs as in area_scatter.
struct AreaRelay {
  std::uint64_t id = 0;
  std::uint64_t offset = 0; // that the runs count from
  std::uint64_t number = 0; // of the relay, counted by its origin
  std::uint64_t ended = 0;  // every relay of the origin's with a smaller number has ended
  std::uint64_t label = 0;  // of the signal
  std::uint64_t bytes = 0;  // the size that the signal tells
  std::uint32_t origin = 0; // rank
  std::uint32_t receivers = 0;
  std::uint8_t record = 0;  // index of this one
  std::uint8_t records = 0; // how many there are, at most kMostRecords
  std::uint8_t signal = 0;  // 1: one is wanted
  std::uint8_t fanout = 0;
  std::uint32_t unused = 0;

  static constexpr std::uint8_t kMostRecords = 64; // a bit each in a word
};
struct RelayReceiver {
  std::uint64_t key = 0; // that its area's owner gave to the origin
  std::uint64_t rank = 0;
};
// area_relayed: to the origin. The process of that rank has all records of the relay in place, or an ErrorCode why it has not;
// or else the sender could not hand them on to it.
struct AreaRelayed {
  std::uint64_t number = 0;
  std::uint64_t rank = 0;
  std::uint64_t code = 0;
  std::uint64_t missed = 0;
};
// lock_passed: the receiver's ticket is served.
struct LockPassed {
  std::uint64_t home = 0;
  std::uint64_t id = 0;
  std::uint64_t ticket = 0;
};

// A claim and the record's head go before them on a shared ring, and all of it travels in the head of one command.
inline constexpr std::size_t kLargestBody = 40;
static_assert(sizeof(AreaGrant) <= kLargestBody && sizeof(AreaSignal) <= kLargestBody &&
              sizeof(AreaScatter) <= kLargestBody && sizeof(AreaRelayed) <= kLargestBody);

} // namespace heddle::onesided
