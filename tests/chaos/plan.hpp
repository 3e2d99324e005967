// What a member of a chaos job is told: by its arguments, which are the same for all processes of the job.
// Not here: who kills and stops whom from outside (tests/chaos/run).
#pragma once

#include "tests/job/member.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace heddle::tests {

// How a process dies by its own hand.
enum class Death : std::uint8_t {
  killed, // SIGKILL, between two calls or while it holds a lock
  exited, // exit status 0, without leaving
  badly,  // leaves in good order, with exit status 3
};

struct ChaosPlan {
  std::uint64_t seed = 1;
  std::uint32_t steps = 40;
  bool lenient = false;           // the launcher is killed or ends the job: anybody may die
  bool early = false;             // who is done leaves, also before it was told of all deaths
  std::set<std::uint32_t> deaths; // ranks that will die, by whatever hand
  struct OwnDeath {
    Death how = Death::killed;
    std::uint32_t step = 0; // the last comes after all else
  };
  std::map<std::uint32_t, OwnDeath> own_deaths;
  std::map<std::uint32_t, std::uint32_t> late_ms; // who joins late

  // seed=7 steps=40 lenient=1 early=1 dies=2 kill=1:12 exit=3:0 badly=0:40 late=2:30
  static ChaosPlan read(int argc, char** argv) {
    ChaosPlan plan;
    for (int i = 1; i < argc; ++i) {
      const std::string_view text = argv[i];
      const std::size_t equals = text.find('=');
      if (equals == std::string_view::npos) give_up("no argument: " + std::string(text));
      const std::string_view name = text.substr(0, equals);
      char* rest = nullptr;
      const std::uint64_t first = std::strtoull(argv[i] + equals + 1, &rest, 10);
      const auto second = static_cast<std::uint32_t>(*rest == ':' ? number(rest + 1) : 0);
      const auto rank = static_cast<std::uint32_t>(first);
      if (name == "seed")
        plan.seed = first;
      else if (name == "steps")
        plan.steps = rank;
      else if (name == "lenient")
        plan.lenient = first != 0;
      else if (name == "early")
        plan.early = first != 0;
      else if (name == "late")
        plan.late_ms[rank] = second;
      else if (name == "dies")
        plan.deaths.insert(rank);
      else if (name == "kill")
        plan.dies_by_itself(rank, {.how = Death::killed, .step = second});
      else if (name == "exit")
        plan.dies_by_itself(rank, {.how = Death::exited, .step = second});
      else if (name == "badly")
        plan.dies_by_itself(rank, {.how = Death::badly, .step = second});
      else
        give_up("no argument: " + std::string(text));
    }
    return plan;
  }

 private:
  void dies_by_itself(std::uint32_t rank, OwnDeath death) {
    deaths.insert(rank);
    own_deaths[rank] = death;
  }
};

} // namespace heddle::tests
