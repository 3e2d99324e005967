// Whether what the receives of one process got can be: every byte, MPI's order, nothing lost and nothing twice.
// Not here: how the messages travelled, and who asked for them.
#pragma once

#include "tests/traffic/region.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tests {

struct Operation;

// How operations end whose peer is gone. Survivors of a death leave when they are done, also while others still wait for them.
inline bool ended_with_its_peer(ErrorCode code) {
  return code == ErrorCode::peer_failed || code == ErrorCode::peer_left;
}

// A message, known in full from its number.
struct Sent {
  std::uint32_t from, to;
  std::uint64_t number; // among those from `from` to `to`, tagged and unsolicited ones apart
  std::uint64_t tag, bytes;
  bool unsolicited;
  const Operation* receive = nullptr; // that got it
  bool arrived = false;               // unsolicited
  bool synchronous = false;
  bool sure = false;     // it must have come, though its sender has died
  bool may_fail = false; // it need not come

  [[nodiscard]] std::vector<std::byte> content() const;
  // Whether these are its first bytes.
  [[nodiscard]] bool begins_with(std::span<const std::byte> bytes) const;
};

// By source, tag and mask.
inline bool accepts(const Match& match, const Sent& sent) {
  return (match.source == kAnySource || match.source == Rank{sent.from}) &&
         (sent.tag & match.mask) == static_cast<std::uint64_t>(match.tag);
}

// A send or a receive, from its start to its end.
struct Operation {
  std::uint32_t node;
  bool is_send, by_event, ended = false;
  int message = -1; // of a send
  std::unique_ptr<Region> region;
  Request request;
  std::uint64_t room = 0; // of a receive
  Match match;
  std::uint64_t order = 0; // of a receive: when it was posted, or its message reserved
  bool cancelled = false;
  bool reserved = false;     // of a receive: of a reserved message
  bool after_news = false;   // of a receive: its source was known to be gone, so that its message is here
  std::size_t witnessed = 0; // where others' knowledge of it stands
  Completion completion;
  std::vector<std::byte> got; // by a receive
  bool rest_untouched = true;

  // Once it has ended its memory is the program's: a send's is overwritten, a receive's is kept in short.
  void end(const Completion& how);
};

class Judge {
 public:
  // All messages to one process, in the order of each sender, and all receives of that process, which have ended.
  // `dead`: by rank, who died under way; what such a one sent carries at least its number of 8 bytes. `gone`: these, and those
  // that left: receives from them may have failed.
  Judge(std::vector<Sent*> messages, std::vector<const Operation*> receives, std::vector<bool> dead,
        std::vector<bool> gone)
      : messages_(std::move(messages)),
        receives_(std::move(receives)),
        dead_(std::move(dead)),
        gone_(std::move(gone)) {}

  // What is wrong, in a line; empty when all is well. `partly`: not everything was received, but what was is right.
  std::string verdict(bool partly = false);

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>; // sender and tag

  std::string assign();
  std::string assign_of(const Key& key, std::vector<const Operation*>& receives, std::vector<Sent*>& sends);
  [[nodiscard]] static std::string check_content(const Operation& receive, const Sent& sent);
  [[nodiscard]] std::string check_nothing_lost() const;
  [[nodiscard]] std::string check_overtaking() const;
  [[nodiscard]] std::string check_passing_over() const;
  [[nodiscard]] bool from_dead(const Sent& sent) const { return dead_[sent.from]; }

  std::vector<Sent*> messages_;
  std::vector<const Operation*> receives_;
  std::vector<bool> dead_;
  std::vector<bool> gone_;
};

} // namespace heddle::tests
