// A whole simulated job as data: the fabric, what goes wrong on it, and what every process does, action by action. Whatever
// is left out of it, the rest is still a job that must end well: that is what lets a failing one be made smaller.
// Not here: how one is drawn (draw.hpp), written down (text.hpp), played (play.hpp) or made smaller (shrink.hpp).
#pragma once

#include <heddle/simulation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tests {

// What a process can do. Each is one call of the library, or a few.
enum class Deed : std::uint8_t {
  send,
  unsolicited,
  receive,
  probe,
  reserve, // matched_probe
  take,    // receive_matched, of something reserved
  cancel,
  release,
  look,    // poll, and test what is under way
  pause,   // time passes, the library goes on
  compute, // time passes, the library does not
  push,
  pull,
  mcast,
  atomic,
  lock, // lock, change two words, unlock
  close,
  meet, // start the next meeting
};

// One action. Which members count depends on the deed; numbers that choose among what there is are taken modulo.
struct Action {
  Deed deed{};
  std::uint32_t peer = 0;   // target or source
  std::uint64_t tag = 0;    // of a message; of a push: with a signal, its label
  std::uint64_t mask = 0;   // of a receive or probe; of an mcast: a bit for each receiver
  std::uint64_t bytes = 0;  // of data, or room for it
  std::uint64_t offset = 0; // of a push or pull
  std::uint64_t form = 0;   // draws the layout of a message; which selection, atomic or operation
  std::uint64_t ns = 0;     // of a pause
  std::uint64_t event = 0;  // 1: the end is told by an event
  std::uint64_t any = 0;    // 1: a receive or probe from any source
  std::uint64_t mode = 0;   // 1: a synchronous send; a push with a signal; an area that is closed under way
  bool operator==(const Action&) const = default;
};

// What all processes do together, in this order.
struct Meeting {
  enum class Kind : std::uint8_t { barrier, alltoall, alltoallv, pattern, put_pattern };
  Kind kind{};
  std::uint64_t bytes = 0;    // of a block
  std::uint64_t distance = 1; // of a pattern: to whom, in ranks
  std::uint64_t rounds = 1;   // of a pattern
  std::uint64_t requests = 1; // of a pattern of messages: for each process
  std::uint64_t form = 0;     // of a pattern: draws the layouts, of one of puts that of what is exposed
  bool operator==(const Meeting&) const = default;
};

// The seeded traffic of tests/traffic instead of actions.
struct SeededTraffic {
  std::uint64_t seed = 1;
  std::uint64_t messages = 60;
  std::uint64_t largest = 100'000;
  bool operator==(const SeededTraffic&) const = default;
};

struct Scenario {
  simulation::Setup setup; // options, faults, deaths and cables with it
  std::vector<Meeting> meetings;
  std::vector<std::vector<Action>> actions; // by rank
  std::vector<bool> leaves; // by rank: it leaves in good order when it has done its part, before the others end
  std::optional<SeededTraffic> traffic;

  [[nodiscard]] std::uint32_t peers() const { return setup.peers; }
  [[nodiscard]] bool dies(std::uint32_t rank) const {
    for (const auto& death : setup.deaths)
      if (death.rank == Rank{rank}) return true;
    return false;
  }
  [[nodiscard]] bool goes(std::uint32_t rank) const { return dies(rank) || (rank < leaves.size() && leaves[rank]); }
  [[nodiscard]] bool anyone_goes() const {
    for (std::uint32_t rank = 0; rank < peers(); ++rank)
      if (goes(rank)) return true;
    return false;
  }
};

} // namespace heddle::tests
