// What the parts of one process of a scenario share: who it is, what it has been told of others, how it complains.
#pragma once

#include "tests/scenario/scenario.hpp"
#include "tests/scenario/witness.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tests {

// What happened, line by line, for people.
struct Journal {
  std::function<simulation::Time()> now;
  std::vector<std::string> lines;
};

struct Role {
  Context& context;
  const Scenario& scenario;
  std::uint32_t rank;
  Witness& witness;
  Journal* journal;                // null: nothing is written down
  std::vector<ErrorCode> fates;    // by rank: what this process was told of it; ok: nothing
  mutable std::uint64_t noted = 0; // things worth a line: more may follow from each at once

  void demand(bool condition, const char* what) const {
    if (!condition) complain(what);
  }
  template <typename Text>
    requires std::is_invocable_r_v<std::string, Text>
  void demand(bool condition, Text&& text) const {
    if (!condition) complain(text());
  }
  [[noreturn]] void complain(const std::string& what) const {
    throw std::runtime_error(what + "\n" + context.waiting_for());
  }
  // `text` gives the line, if there is somebody to read it.
  template <typename Text>
  void note(Text&& text) const {
    ++noted;
    if (journal == nullptr) return;
    const auto ns = static_cast<std::uint64_t>(journal->now().count()) / 1000;
    std::string line = std::to_string(ns / 1000) + "." + std::to_string(ns % 1000 / 100) + " us";
    line.insert(0, line.size() < 12 ? 12 - line.size() : 0, ' ');
    journal->lines.push_back(line + "  rank " + std::to_string(rank) + " " + text());
  }
  // Whether that peer's end is told with this code, and it has one.
  [[nodiscard]] bool ends_with(std::uint32_t peer, ErrorCode code) const {
    return scenario.goes(peer) && code == (scenario.dies(peer) ? ErrorCode::peer_failed : ErrorCode::peer_left);
  }
  // Whether an operation with that peer may end like this.
  [[nodiscard]] bool may_end(std::uint32_t peer, ErrorCode code) const {
    return code == ErrorCode::ok || ends_with(peer, code);
  }
  // A call that needs the peer was refused with this code, or accepted (ok): not after the news that it is gone.
  void demand_refusal(std::uint32_t peer, ErrorCode code, const char* what) const {
    demand(may_end(peer, code),
           [&] { return std::string(what) + " rank " + std::to_string(peer) + ": " + std::string(to_string(code)); });
    demand(fates[peer] == ErrorCode::ok || code != ErrorCode::ok, [&] {
      return std::string(what) + " rank " + std::to_string(peer) + ", which is known to be gone, is accepted";
    });
    if (code != ErrorCode::ok) ++witness.happened.calls_refused;
  }
};

inline std::string text_of(ErrorCode code) {
  return std::string(to_string(code));
}

} // namespace heddle::tests
