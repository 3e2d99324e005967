// Errors as values: what every call of Heddle that can fail on the control path returns.
// Not here: the outcome of a message, which arrives as an Event or a Completion (heddle.hpp) and carries only an ErrorCode.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace heddle {

// The kinds of failure a caller can act on. `ok` is part of the list because completions carry a code, not an Error.
enum class ErrorCode : std::uint8_t {
  ok,
  bad_argument,       // the call itself is wrong: a rank outside the job, a mask that can match nothing, ...
  bad_option,         // an option has an unknown name or a value that cannot be used
  no_launcher,        // not started by a launcher, and a job of one process was not asked for
  store_failed,       // the key-value store cannot be reached or answered wrongly
  already_joined,     // this process is a member of this job already, or was one and cannot be again
  out_of_memory,      // a memory limit was reached; it ends one call or one message, nothing else
  out_of_descriptors, // the limit on open files was reached
  unreachable,        // no translator can reach the peer
  peer_failed,        // the peer's process has died
  peer_left,          // the peer has left the job in good order
  connection_lost, // the peer may be alive, but the connection to it broke; what was under way may have arrived or not
  truncated,       // the message was longer than the posted receive; the rest was discarded
  cancelled,       // the receive was cancelled before anything matched
  stale_request,   // the request was already waited for, or never existed
  timed_out,       // nothing happened within the time given
  would_block,     // a simulated process cannot block: co_await instead; inject: the peer takes no more now
  unknown_area,    // one-sided: the peer has no area of that id
  closed_area,     // one-sided: the area is not opened to this process
  out_of_range,    // one-sided: not wholly inside the area
  revoked_area,    // one-sided: the area was closed under way
  unsupported,     // the network cannot do this with that memory
  lock_busy,       // try_lock: another process has it or waits for it
  holder_died,     // the lock is held now, but a process died holding it
  pattern_freed,   // a process of the pattern has freed it
  system_failed,   // the operating system refused; system_code says with what errno
};

// Short lower-case name of a code, for messages and logs: "peer_failed".
[[nodiscard]] std::string_view to_string(ErrorCode code);

// A rank that is no peer: the error concerns nobody in particular.
inline constexpr std::int64_t kNoPeer = -1;

// One failure: the fact in one line, and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::ok;
  std::string fact;            // what happened and to what, with the values involved
  std::string remedy;          // what the user can do; empty where nothing can be advised
  std::int64_t peer = kNoPeer; // the rank concerned
  int system_code = 0;         // errno or the vendor's own code, 0 when there is none

  // "peer_failed: rank 3 has died (remedy: ...; errno 104 Connection reset by peer)": one line, no newline.
  [[nodiscard]] std::string message() const;
};

template <typename T>
using Result = std::expected<T, Error>;

} // namespace heddle
#pragma GCC visibility pop
