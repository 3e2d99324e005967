#include "onesided/locks/machine.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace heddle::onesided::lock {
namespace {

// The table of machine.hpp once more, by hand: a row per state, a column per input, as "state effect".
// "=" the same state with no effect, "R" the same and the call is refused, "X" a violation.
constexpr const char* kStateNames[kStates] = {"away",    "taking", "trying", "probing", "looking",
                                              "waiting", "asking", "held",   "leaving", "naming"};
constexpr const char* kEffectNames[] = {"none",  "take_ticket", "look_first", "try_ticket", "try_again",
                                        "probe", "claim",       "claim_look", "remember",   "wait",
                                        "ask",   "hold",        "serve_next", "ask_name",   "tell",
                                        "leave", "end_busy",    "refuse",     "give_up",    "violation"};
// clang-format off
constexpr const char* kTable[kStates][kInputs] = {
  // lock                 try_lock             unlock                free                  moved               busy             doubt            served         not_yet               told                deaths       alone         followed           named        lost
  {"taking take_ticket",  "trying look_first", "R",                  "X",                  "X",                "X",             "X",             "X",           "X",                  "=",                "X",         "X",          "X",               "X",         "="},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "held claim",  "looking claim_look", "=",                "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "trying try_ticket",  "trying try_again", "away end_busy", "probing probe", "held claim",  "looking claim_look", "=",                "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "trying try_ticket",  "X",                "away end_busy", "X",             "asking ask",  "X",                  "=",                "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "asking ask",  "waiting wait",       "looking remember", "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "asking ask",  "X",                  "asking ask",       "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "X",           "X",                  "=",                "held hold", "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "leaving serve_next", "X",                  "X",                "X",             "X",             "X",           "X",                  "=",                "X",         "X",          "X",               "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "X",           "X",                  "=",                "X",         "away leave", "naming ask_name", "X",         "away give_up"},
  {"R",                   "R",                 "R",                  "X",                  "X",                "X",             "X",             "X",           "X",                  "=",                "X",         "X",          "X",               "away tell", "away give_up"},
};
// clang-format on

std::string text(State state, Step step) {
  if (step.next == state && step.effect == Effect::none) return "=";
  if (step.next == state && step.effect == Effect::refuse) return "R";
  if (step.next == state && step.effect == Effect::violation) return "X";
  return std::string(kStateNames[static_cast<unsigned>(step.next)]) + " " +
         kEffectNames[static_cast<unsigned>(step.effect)];
}

TEST(LockMachine, StepsAsItsTableSaysForEveryPair) {
  for (unsigned state = 0; state < kStates; ++state)
    for (unsigned input = 0; input < kInputs; ++input) {
      const auto from = static_cast<State>(state);
      EXPECT_EQ(text(from, step(from, static_cast<Input>(input))), kTable[state][input])
          << kStateNames[state] << ", input " << input;
    }
}

std::set<State> reached_from(State start, bool without_losses) {
  std::set<State> reached{start};
  for (std::vector<State> open{start}; !open.empty();) {
    const State state = open.back();
    open.pop_back();
    for (unsigned input = 0; input < kInputs; ++input) {
      if (without_losses && static_cast<Input>(input) == Input::lost) continue;
      const Step next = step(state, static_cast<Input>(input));
      if (reached.insert(next.next).second) open.push_back(next.next);
    }
  }
  return reached;
}

TEST(LockMachine, EveryStateIsReachedAndLeadsBackWithoutALoss) {
  EXPECT_EQ(reached_from(State::away, true).size(), kStates);
  for (unsigned state = 0; state < kStates; ++state)
    EXPECT_TRUE(reached_from(static_cast<State>(state), true).contains(State::away)) << kStateNames[state];
}

// Whoever calls hears of the end: a call that is taken up ends by exactly one of these on each way to where no call is under way.
TEST(LockMachine, ACallEndsOnceOnEveryWay) {
  const std::set<Effect> ends{Effect::claim, Effect::hold,     Effect::tell,
                              Effect::leave, Effect::end_busy, Effect::give_up};
  const std::set<State> at_rest{State::away, State::held};
  for (unsigned state = 0; state < kStates; ++state)
    for (unsigned input = 0; input < kInputs; ++input) {
      const auto from = static_cast<State>(state);
      const Step next = step(from, static_cast<Input>(input));
      if (next.next == from || at_rest.contains(from)) continue;
      EXPECT_EQ(ends.contains(next.effect), at_rest.contains(next.next)) << kStateNames[state] << ", input " << input;
    }
}

} // namespace
} // namespace heddle::onesided::lock
