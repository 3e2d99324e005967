// What processes tell each other while they compile a pattern, and the words that they write to each other while it runs.
#pragma once

#include "ir/command.hpp"

#include <heddle/error.hpp>

#include <cstdint>

namespace heddle::pattern {

// One send or put, as its target learns of it.
struct Want {
  std::uint64_t tag = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t is_put = 0;
};

// How what is wanted will travel.
enum class Delivery : std::uint64_t {
  refused, // `verdict` says why
  record,  // head and payload in one put, into one of two slots in turn; the head's first word says that it is there
  data,    // the payload, then a word of its own that says that it is there
  put,     // the payload, without notification
};
enum class Verdict : std::uint64_t {
  fine,
  no_receive,
  too_long,
  not_exposed,
  beyond_end,
  unreachable,
  out_of_memory,
  taken // memory that is not contiguous, and that another put already writes to
};

struct Answer {
  Delivery way = Delivery::refused;
  Verdict verdict = Verdict::fine;
  ir::RemotePlace place; // of the slots, or of the payload
  ir::RemotePlace flag;  // of the word
  std::uint64_t slot = 0;
};

// Goes ahead of all wants, and of each portion of answers.
struct Header {
  std::uint64_t count = 0; // of wants, or of the answers that follow
  ir::RemotePlace line;    // where the other side writes its words for this one
};

// What the other side has written here, in rounds: a round is one start.
struct alignas(64) Line {
  std::uint64_t started = 0;  // its memory may be written to, up to this round
  std::uint64_t consumed = 0; // slots of this round are free again
  std::uint64_t farewell = 0; // not 0: nothing more will come from there; see Farewell
};
// Why nothing more comes, and how many rounds were ended well before: what belongs to those counts.
struct Farewell {
  enum Why : std::uint64_t { none, gave_up, freed };
  Why why = none; // freed: nothing more will be written here, either
  std::uint64_t rounds = 0;
  ErrorCode code{}; // gave_up: what it ended with there

  [[nodiscard]] std::uint64_t pack() const { return (rounds << 10U) | (static_cast<std::uint64_t>(code) << 2U) | why; }
  static Farewell unpack(std::uint64_t word) {
    return {.why = static_cast<Why>(word & 3U),
            .rounds = word >> 10U,
            .code = static_cast<ErrorCode>((word >> 2U) & 0xffU)};
  }
};

// Sends, receives, puts and exposures of a process in one pattern: what a peer says it has is believed up to here.
inline constexpr std::uint64_t kMostItems = 1 << 20;

// Wants and answers travel in portions of so many, the last one of the rest. The next wants of a peer are received when the answers to
// those before have left: what a peer announces costs no memory here, and what it sends no more than a portion.
inline constexpr std::uint64_t kPortion = 256;

// Two records may be under way at once.
inline constexpr std::uint64_t kSlots = 2;
inline constexpr std::uint64_t kRecordHead = 16; // round, bytes

} // namespace heddle::pattern
