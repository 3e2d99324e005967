// The key-value store that the processes of a job meet in: addresses, fences, and news of who failed.
// Not here: how a store is reached (client.hpp for the built-in one) and anything on the path of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "heddle/error.hpp"

namespace heddle::store {

inline constexpr std::size_t kLargestKey = 256;
inline constexpr std::size_t kLargestValue = 64 << 10;
inline constexpr std::size_t kLargestReport = 4 << 10; // of what is waited for; the rest is cut
inline constexpr std::size_t kLargestBlob = 4 << 10;   // of one rank in allgather: addresses, not data

using Bytes = std::vector<std::byte>;

// News of a rank that is gone. One that left in good order may turn out to have failed: it is then reported twice.
struct Notice {
  std::uint32_t rank = 0;
  bool failed = false; // otherwise it left in good order
  // It has ended the whole job, of which this process is a part: it is to end, too, with this exit status.
  std::optional<int> ends_job_with{};
};

// One process's view of the store; used by one thread, holds no thread of its own. Every waiting call ends at its deadline
// with timed_out, and with peer_failed or peer_left naming the rank as soon as that makes its outcome impossible.
// Errors of the connection itself are store_failed; after one, every further call fails.
class Store {
 public:
  using Deadline = base::Deadline;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default; // without leave() before, it says that this process gives up: its rank has failed

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;

  // Sets a key, replacing what it held. bad_argument past kLargestKey or kLargestValue, and for an empty key.
  virtual Result<void> put(std::string_view key, std::span<const std::byte> value, Deadline deadline) = 0;

  // The value of a key, as soon as somebody has put it. `from` is the rank expected to put it: its failure ends the wait;
  // kNoPeer waits until nobody else is left.
  virtual Result<Bytes> get(std::string_view key, std::int64_t from, Deadline deadline) = 0;

  // Returns when all ranks of the job have called it as often as this one. What was put before is visible after.
  virtual Result<void> fence(Deadline deadline) = 0;

  // Every rank gives one blob of at most kLargestBlob bytes, and then gets all, by rank. One round trip; also a fence. Nothing else
  // is asked of the store in between.
  virtual Result<void> contribute(std::span<const std::byte> blob, Deadline deadline) = 0;
  virtual Result<std::vector<Bytes>> gather(Deadline deadline) = 0;
  Result<std::vector<Bytes>> allgather(std::span<const std::byte> blob, Deadline deadline) {
    if (auto given = contribute(blob, deadline); !given) return std::unexpected(std::move(given.error()));
    return gather(deadline);
  }

  // Ranks that failed and were not reported by this call before; how many were written. Never blocks: at most one
  // non-blocking receive, no allocation where nothing happened. Also reports what arrived during waiting calls.
  virtual Result<std::size_t> take_notices(std::span<Notice> notices) = 0;

  // From now on take_notices also reports ranks that left in good order, including those before this call. Only for who has
  // reason to ask: at the end of a job everybody leaves, and telling everybody of everybody would be the square of it.
  virtual Result<void> watch_departures() = 0;

  // Readable when take_notices has something to look at; -1: nothing ever comes. Constant.
  [[nodiscard]] virtual int descriptor() const { return -1; }

  // Tells the job's launcher that nothing has moved here for so long, and what is waited for, a line each; it makes one report of
  // what all processes say. Never blocks: would_block where the store is slow, unsupported where there is no launcher.
  virtual Result<void> report_stall(std::uint32_t seconds, std::string_view waiting) = 0;

  // Asks that every process of the job be ended with this exit status; the caller ends itself right after. Waits a few
  // seconds at most for the word to be heard. Nothing where there is nobody to tell.
  virtual void abort([[maybe_unused]] int status) {}

  // Leaves the job in good order: whoever waits for this rank is told that it left, and it is not reported as failed. A word
  // once given reaches the store however slow it is, and however soon this process ends; only on another machine it is waited for.
  virtual Result<void> leave() = 0;
};

} // namespace heddle::store
