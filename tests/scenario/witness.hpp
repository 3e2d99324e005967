// What is known of all processes of a scenario at once, since they live in one program: what one has begun tells what another
// may see, and must. Virtual time and order are those of the simulation, so nothing here depends on luck.
#pragma once

#include "tests/traffic/judge.hpp"

#include <heddle/heddle.hpp>
#include <heddle/simulation.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace heddle::tests {

// How often what is drawn has come to something.
struct Happened {
  std::uint64_t probes_found = 0, reserved = 0, cancelled = 0, truncated = 0;
  std::uint64_t receives_ended_with_peer = 0, calls_refused = 0, sure_of_the_dead = 0;
  std::uint64_t synchronous_ended = 0, unsolicited_refused = 0;
  std::uint64_t locks_had = 0, try_locks_had = 0, try_locks_busy = 0, holders_died = 0;
  std::uint64_t signals = 0, atomics = 0;
  std::uint64_t rounds = 0, rounds_cut_short = 0, starts_refused = 0, frees_refused = 0;
  bool operator==(const Happened&) const = default;
  // Each by its name.
  struct Count {
    const char* name;
    std::uint64_t Happened::* member;
  };
  static std::span<const Count> counts();
};

inline std::span<const Happened::Count> Happened::counts() {
  static constexpr Count kCounts[] = {{"probes that found a message", &Happened::probes_found},
                                      {"messages reserved", &Happened::reserved},
                                      {"receives cancelled", &Happened::cancelled},
                                      {"messages truncated", &Happened::truncated},
                                      {"receives that ended with their peer", &Happened::receives_ended_with_peer},
                                      {"calls refused for a peer that is gone", &Happened::calls_refused},
                                      {"messages that the dead had surely sent", &Happened::sure_of_the_dead},
                                      {"sends that ended with a match", &Happened::synchronous_ended},
                                      {"unsolicited messages refused", &Happened::unsolicited_refused},
                                      {"locks had", &Happened::locks_had},
                                      {"locks had without waiting", &Happened::try_locks_had},
                                      {"locks busy", &Happened::try_locks_busy},
                                      {"locks of dead holders", &Happened::holders_died},
                                      {"signals of pushes", &Happened::signals},
                                      {"atomics", &Happened::atomics},
                                      {"rounds of patterns", &Happened::rounds},
                                      {"rounds cut short", &Happened::rounds_cut_short},
                                      {"starts of patterns refused", &Happened::starts_refused},
                                      {"frees of patterns under way refused", &Happened::frees_refused}};
  return kCounts;
}

struct Witness {
  Witness(std::uint32_t peers, std::size_t meetings, std::function<simulation::Time()> clock)
      : now(std::move(clock)),
        arrived_at(meetings, 0),
        messages(peers),
        receives(peers),
        locks(peers),
        sums(peers),
        signals(peers) {}

  std::function<simulation::Time()> now;
  std::vector<std::uint32_t> arrived_at; // by meeting: how many have started it

  // By receiver, in the order in which their sends were started.
  struct Message {
    Sent sent;
    bool ended = false; // its send, with ok
    simulation::Time ended_at{};
  };
  std::vector<std::vector<Message>> messages;
  // By receiver: what it has posted or reserved, and not taken back.
  struct Posted {
    Match match;
    bool stands = true;
  };
  std::vector<std::vector<Posted>> receives;

  // Of one process's lock.
  struct Lock {
    enum class Use : std::uint8_t { none, wants, has, had }; // had: it has begun to give it back
    std::vector<Use> uses;                                   // by rank
    std::vector<bool> death_told;                            // by rank: that it died with the lock
    std::uint64_t begun = 0;                                 // uses of it
  };
  std::vector<Lock> locks;

  // Additions to one process's sum.
  struct Sum {
    std::uint64_t begun = 0, ended = 0;
  };
  std::vector<Sum> sums;

  // By target: pushes that tell it, and have not yet.
  struct Signal {
    std::uint32_t from;
    std::uint64_t label, bytes;
    std::uint64_t offset;           // in the shared area
    std::vector<std::byte> content; // there; empty: it may have been written over since
  };
  std::vector<std::vector<Signal>> signals;

  Happened happened;

  [[nodiscard]] std::size_t posted_for(const Sent& sent) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        receives[sent.to], [&](const Posted& posted) { return posted.stands && accepts(posted.match, sent); }));
  }
};

} // namespace heddle::tests
