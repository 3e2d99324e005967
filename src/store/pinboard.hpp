// What a launcher of others' offers to the processes that it has started: a board where each may leave notes for the others, and a fence. Little,
// slow and without news of deaths, it is used once: to tell all where the job's own store is kept (keeper.hpp).
// Adapters: pmi.hpp, pmix.hpp, memcached.hpp.
#pragma once

#include "base/clock.hpp"
#include "store/store.hpp"

#include <heddle/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::store {

inline constexpr std::size_t kLargestNote = 4 << 10;

// Where the launcher says that a process runs.
struct Placement {
  std::uint32_t nodes = 0; // of the job; 0: not said
  std::string node;        // the launcher's name or number for this one; empty: not said
};

// Used by one thread. Every call ends at its deadline with timed_out; after that, and after store_failed, all fail.
class Pinboard {
 public:
  using Deadline = base::Deadline;

  Pinboard() = default;
  Pinboard(const Pinboard&) = delete;
  Pinboard& operator=(const Pinboard&) = delete;
  virtual ~Pinboard() = default;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual Placement placement(Deadline deadline) = 0;

  // Any bytes, up to kLargestNote, under a key of letters, digits, dots and dashes, up to 32. Others see them after the next fence, and so does
  // this process. A key is put once. Values go as text that every launcher passes on, and in pieces where they are too long.
  Result<void> put(std::string_view key, std::span<const std::byte> value, Deadline deadline);
  // What was put before the last fence. bad_argument where that is nothing.
  Result<Bytes> get(std::string_view key, Deadline deadline);
  // Returns when all processes have called it as often as this one.
  virtual Result<void> fence(Deadline deadline) = 0;

  // The launcher is to end all processes; it may return before that.
  virtual void abort([[maybe_unused]] int status) {}
  // This process needs nothing more: that it ends is no failure from now on.
  virtual void leave(Deadline deadline) = 0;

 protected:
  // Characters of a value at most.
  [[nodiscard]] virtual std::size_t longest() const = 0;
  // Of hexadecimal digits and a colon.
  virtual Result<void> put_text(const std::string& key, const std::string& text, Deadline deadline) = 0;
  virtual Result<std::optional<std::string>> get_text(const std::string& key, Deadline deadline) = 0;
};

} // namespace heddle::store
