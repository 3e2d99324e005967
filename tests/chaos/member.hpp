// What the parts of a chaos job's member share: its plan, who has died as far as it was told, and how it ends.
#pragma once

#include "tests/chaos/plan.hpp"
#include "tests/traffic/dice.hpp"

#include <heddle/heddle.hpp>

#include <csignal>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>

namespace heddle::tests {

class Fate {
 public:
  Fate(Context& context, const ChaosPlan& plan)
      : context_(context), plan_(plan), rank_(static_cast<std::uint32_t>(context.rank())) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }

  [[noreturn]] void fail(const std::string& why) const { give_up("rank " + std::to_string(rank_) + ": " + why); }
  void demand(bool condition, const std::string& what) const {
    if (!condition) fail(what);
  }

  // A peer_failed event.
  void told(std::uint32_t dead) {
    demand(told_.insert(dead).second, "told twice of the death of rank " + std::to_string(dead));
    demand(may_die(dead), "told of a death that was none, of rank " + std::to_string(dead));
  }
  [[nodiscard]] bool knows_dead(std::uint32_t peer) const { return told_.contains(peer); }
  [[nodiscard]] bool knows_all() const {
    for (const std::uint32_t dead : plan_.deaths)
      if (dead != rank_ && !told_.contains(dead)) return false;
    return true;
  }
  [[nodiscard]] const std::set<std::uint32_t>& known() const { return told_; }

  [[nodiscard]] bool may_die(std::uint32_t peer) const { return plan_.lenient || plan_.deaths.contains(peer); }

  // Whether an operation with that peer may end so: its process died. `anybody`: or it may have left, because another died.
  [[nodiscard]] bool may_end(ErrorCode code, std::uint32_t peer, bool anybody = false) const {
    const std::string_view name = to_string(code);
    if (name != "peer_failed" && name != "peer_left" && !(anybody && code == ErrorCode::revoked_area)) return false;
    return may_die(peer) || (anybody && !plan_.deaths.empty());
  }

  // Dies here if that is the plan.
  void step(std::uint32_t now) {
    step_ = now;
    const auto own = plan_.own_deaths.find(rank_);
    if (own == plan_.own_deaths.end() || own->second.step > now) return;
    if (own->second.how == Death::killed) ::kill(::getpid(), SIGKILL);
    if (own->second.how == Death::exited) ::_exit(0);
  }
  // The same in the midst of a step.
  void midway() {
    const auto own = plan_.own_deaths.find(rank_);
    if (own != plan_.own_deaths.end() && own->second.how == Death::killed && own->second.step <= step_ + 4)
      ::kill(::getpid(), SIGKILL);
  }
  [[nodiscard]] bool ends_badly() const {
    const auto own = plan_.own_deaths.find(rank_);
    return own != plan_.own_deaths.end() && own->second.how == Death::badly;
  }

  // To be called in every wait.
  void watch_time() const {
    constexpr std::uint64_t kLongest = 40'000'000'000;
    if (machine_ns() - begin_ < kLongest) return;
    std::string waiting = context_.waiting_for();
    fail("not done in time; knows of " + std::to_string(told_.size()) + " deaths; waits for: " + waiting);
  }

 private:
  Context& context_;
  const ChaosPlan& plan_;
  std::uint32_t rank_;
  std::uint32_t step_ = 0;
  std::uint64_t begin_ = machine_ns();
  std::set<std::uint32_t> told_;
};

// The words of a message or block, all known from its name: the n-th of that kind between those two.
class Content {
 public:
  Content(std::uint64_t seed, std::uint64_t kind, std::uint64_t from, std::uint64_t to, std::uint64_t number)
      : word_((((seed * 31 + kind) * 64 + from) * 64 + to) * 0x9e3779b97f4a7c15ULL + number) {}

  void write(std::span<std::byte> memory) const {
    std::uint64_t word = word_;
    for (std::size_t at = 0; at < memory.size(); at += sizeof word, word += 0x100000001b3ULL)
      std::memcpy(&memory[at], &word, std::min(sizeof word, memory.size() - at));
  }
  [[nodiscard]] bool stands_in(std::span<const std::byte> memory) const {
    std::uint64_t word = word_;
    for (std::size_t at = 0; at < memory.size(); at += sizeof word, word += 0x100000001b3ULL)
      if (std::memcmp(&memory[at], &word, std::min(sizeof word, memory.size() - at)) != 0) return false;
    return true;
  }

 private:
  std::uint64_t word_;
};

} // namespace heddle::tests
