#include "engine/connection/machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace heddle::engine::connection {
namespace {

// --- every pair ---

// The table of machine.hpp once more, by hand: a row per state, a column per input, as "state effect".
// "=" the same state with no effect, "X" a violation.
constexpr const char* kStateNames[kStates] = {"idle",         "locking",      "answer?",   "superseded",
                                              "information?", "acknowledge?", "connected", "failed"};
constexpr const char* kEffectNames[] = {"none",   "lock",        "request",   "answer", "abandon", "turn_down",
                                        "inform", "acknowledge", "establish", "unlock", "give_up", "violation"};
// clang-format off
constexpr const char* kTable[kStates][kInputs] = {
    // start          lock_taken         lock_busy       request_prevails        request_yields          answer                 superseded    refused           information               acknowledge            broken            peer_lost          ended           to_self
    {"locking lock", "idle unlock",     "=",            "information? answer",  "information? answer",  "X",                   "=",          "failed give_up", "X",                      "X",                   "failed give_up", "failed give_up", "failed none", "connected establish"},
    {"=",            "answer? request", "locking lock", "information? abandon", "information? abandon", "X",                   "=",          "failed give_up", "X",                      "X",                   "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "answer? unlock",  "=",            "information? abandon", "answer? turn_down",    "acknowledge? inform", "superseded none", "failed give_up", "X",                 "X",                   "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "superseded unlock", "=",          "information? answer",  "X",                    "X",                   "=",          "failed give_up", "X",                      "X",                   "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "information? unlock", "=",        "X",                    "X",                    "X",                   "=",          "failed give_up", "connected acknowledge",  "X",                   "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "acknowledge? unlock", "=",        "X",                    "acknowledge? turn_down", "X",                 "=",          "failed give_up", "X",                      "connected establish", "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "connected unlock", "=",           "X",                    "connected turn_down",  "X",                   "=",          "failed give_up", "X",                      "X",                   "failed give_up", "failed give_up", "failed none", "X"},
    {"=",            "failed unlock",   "=",            "=",                    "=",                    "=",                   "=",          "=",              "=",                      "=",                   "=", "=", "=", "="},
};
// clang-format on

TEST(ConnectionMachine, StepsAsItsTableSaysForEveryPair) {
  for (unsigned state = 0; state < kStates; ++state)
    for (unsigned input = 0; input < kInputs; ++input) {
      const Step step = connection::step(static_cast<State>(state), static_cast<Input>(input));
      std::string expected = kTable[state][input];
      if (expected == "=") expected = std::string(kStateNames[state]) + " none";
      if (expected == "X") expected = "failed violation";
      const std::string found = std::string(kStateNames[static_cast<unsigned>(step.next)]) + " " +
                                kEffectNames[static_cast<unsigned>(step.effect)];
      EXPECT_EQ(found, expected) << "state " << kStateNames[state] << ", input " << input;
    }
}

// --- all interleavings ---
//
// Two processes as connector.cpp carries them out, over a model of the bootstrap memory: a lock word, a request word and
// three command slots each. Puts of one process arrive in order, at any moment; a compare-and-swap is carried out at any
// moment and its answer comes at any later one; each look at a word is a step of its own.

enum class Word : std::uint8_t { none, answer, superseded, information, acknowledge };
enum class Swap : std::uint8_t { none, submitted, found_free, found_taken };
enum class Put : std::uint8_t { unlock, request, word };

struct InFlight {
  Put put{};
  Word word{};
  std::int8_t slot = -1;     // the target's slot, or the slot that a request names
  std::int8_t own_slot = -1; // inside the body of an answer or information
};

struct Side {
  // Its memory.
  std::uint8_t lock = 0;    // 0, or 1 + holder
  std::int8_t request = -1; // the slot of the requester
  std::array<Word, 3> slots{};
  std::array<std::int8_t, 3> told{-1, -1, -1}; // the body: the sender's slot
  // What it knows.
  State state = State::idle;
  bool wants = false;
  Swap swap = Swap::none;
  std::array<bool, 3> taken{};
  std::int8_t slot = -1;
  std::int8_t abandoned = -1;
  std::int8_t peer_slot = 0;
  bool requested = false;
  std::uint8_t established = 0;
  std::vector<InFlight> out;
};

struct Joint {
  std::array<Side, 2> sides;
  bool broken = false;

  [[nodiscard]] std::string key() const {
    std::string text;
    const auto add = [&text](auto value) { text.push_back(static_cast<char>(static_cast<int>(value) + 2)); };
    for (const Side& side : sides) {
      add(side.lock), add(side.request), add(side.state), add(side.wants), add(side.swap), add(side.slot);
      add(side.abandoned), add(side.peer_slot), add(side.requested), add(side.established);
      for (std::size_t i = 0; i < 3; ++i) add(side.slots[i]), add(side.told[i]), add(side.taken[i]);
      for (const InFlight& put : side.out) add(put.put), add(put.word), add(put.slot), add(put.own_slot);
      text.push_back('|');
    }
    add(broken);
    return text;
  }
};

class Explorer {
 public:
  // Every state that can follow, one for each thing that can happen next.
  static std::vector<Joint> successors(const Joint& from) {
    std::vector<Joint> all;
    for (std::size_t me = 0; me < 2; ++me) {
      const Side& side = from.sides[me];
      if (side.wants)
        branch(all, from, [me](Joint& joint) {
          joint.sides[me].wants = false;
          feed(joint, me, Input::start);
        });
      if (side.state == State::locking && side.swap == Swap::none)
        branch(all, from, [me](Joint& joint) { ask(joint, me); });
      if (side.swap == Swap::submitted)
        branch(all, from, [me](Joint& joint) {
          std::uint8_t& lock = joint.sides[1 - me].lock;
          joint.sides[me].swap = lock == 0 ? Swap::found_free : Swap::found_taken;
          if (lock == 0) lock = static_cast<std::uint8_t>(me + 1);
        });
      if (side.swap == Swap::found_free || side.swap == Swap::found_taken)
        branch(all, from, [me](Joint& joint) {
          const bool free = joint.sides[me].swap == Swap::found_free;
          joint.sides[me].swap = Swap::none;
          feed(joint, me, free ? Input::lock_taken : Input::lock_busy);
        });
      if (!side.out.empty()) branch(all, from, [me](Joint& joint) { arrive(joint, me); });
      if (side.request >= 0) branch(all, from, [me](Joint& joint) { look_at_request(joint, me); });
      for (const std::int8_t slot : {side.slot, side.abandoned})
        if (slot >= 0 && side.slots[static_cast<std::size_t>(slot)] != Word::none)
          branch(all, from, [me, slot](Joint& joint) { look_at_slot(joint, me, slot); });
    }
    return all;
  }

 private:
  template <typename Change>
  static void branch(std::vector<Joint>& all, const Joint& from, Change&& change) {
    all.push_back(from);
    change(all.back());
  }

  static std::int8_t take_slot(Joint& joint, std::size_t me) {
    for (std::size_t i = 0; i < 3; ++i)
      if (!joint.sides[me].taken[i]) {
        joint.sides[me].taken[i] = true;
        joint.sides[me].slots[i] = Word::none;
        return static_cast<std::int8_t>(i);
      }
    joint.broken = true;
    return 0;
  }
  static void free_slot(Side& side, std::int8_t& slot) {
    if (slot >= 0) side.taken[static_cast<std::size_t>(slot)] = false;
    slot = -1;
  }
  static void ask(Joint& joint, std::size_t me) {
    Side& side = joint.sides[me];
    if (side.slot < 0) side.slot = take_slot(joint, me);
    side.swap = Swap::submitted;
  }
  static void write_word(Side& side, std::int8_t to, Word word) {
    side.out.push_back({.put = Put::word, .word = word, .slot = to, .own_slot = side.slot});
  }
  static void arrive(Joint& joint, std::size_t me) {
    const InFlight put = joint.sides[me].out.front();
    joint.sides[me].out.erase(joint.sides[me].out.begin());
    Side& target = joint.sides[1 - me];
    switch (put.put) {
      case Put::unlock: target.lock = 0; break;
      case Put::request:
        if (target.request >= 0) joint.broken = true; // a request was overwritten
        target.request = put.slot;
        break;
      case Put::word: {
        const auto at = static_cast<std::size_t>(put.slot);
        if (!target.taken[at] || target.slots[at] != Word::none) joint.broken = true; // nobody listens there
        target.slots[at] = put.word;
        target.told[at] = put.own_slot;
        break;
      }
    }
  }
  static void look_at_request(Joint& joint, std::size_t me) {
    Side& side = joint.sides[me];
    const std::int8_t before = side.peer_slot;
    side.peer_slot = side.request;
    feed(joint, me, me == 1 ? Input::request_prevails : Input::request_yields);
    if (side.state != State::awaiting_information) side.peer_slot = before;
  }
  static void look_at_slot(Joint& joint, std::size_t me, std::int8_t index) {
    Side& side = joint.sides[me];
    const Word word = side.slots[static_cast<std::size_t>(index)];
    side.slots[static_cast<std::size_t>(index)] = Word::none;
    if (index == side.abandoned) {
      if (word != Word::superseded) joint.broken = true;
      free_slot(side, side.abandoned);
      return;
    }
    if (word == Word::answer || word == Word::information) side.peer_slot = side.told[static_cast<std::size_t>(index)];
    switch (word) {
      case Word::answer:
        side.requested = false;
        feed(joint, me, Input::answer);
        break;
      case Word::information: feed(joint, me, Input::information); break;
      case Word::acknowledge: feed(joint, me, Input::acknowledge); break;
      case Word::superseded:
        free_slot(side, side.slot);
        side.requested = false;
        feed(joint, me, Input::superseded);
        break;
      case Word::none: break;
    }
  }
  static void free_common_slot(Side& side) {
    side.request = -1;
    side.lock = 0;
  }
  static void answer(Joint& joint, std::size_t me) {
    Side& side = joint.sides[me];
    if (side.slot < 0) side.slot = take_slot(joint, me);
    write_word(side, side.peer_slot, Word::answer);
    free_common_slot(side);
  }
  static void feed(Joint& joint, std::size_t me, Input input) {
    Side& side = joint.sides[me];
    const Step step = connection::step(side.state, input);
    side.state = step.next;
    switch (step.effect) {
      case Effect::none:
      case Effect::lock: break; // successors ask
      case Effect::request:
        side.requested = true;
        side.out.push_back({.put = Put::request, .slot = side.slot});
        break;
      case Effect::abandon_and_answer:
        if (side.requested) {
          if (side.abandoned >= 0) joint.broken = true;
          side.abandoned = side.slot;
          side.slot = -1;
          side.requested = false;
        }
        answer(joint, me);
        break;
      case Effect::answer: answer(joint, me); break;
      case Effect::turn_down:
        write_word(side, side.peer_slot, Word::superseded);
        free_common_slot(side);
        break;
      case Effect::inform: write_word(side, side.peer_slot, Word::information); break;
      case Effect::acknowledge:
        write_word(side, side.peer_slot, Word::acknowledge);
        free_slot(side, side.slot);
        ++side.established;
        break;
      case Effect::establish:
        free_slot(side, side.slot);
        ++side.established;
        break;
      case Effect::unlock: side.out.push_back({.put = Put::unlock}); break;
      case Effect::give_up:
      case Effect::violation: joint.broken = true; break;
    }
  }
};

bool settled(const Joint& joint) {
  for (const Side& side : joint.sides) {
    if (side.state != State::connected || side.established != 1 || side.lock != 0 || side.request >= 0) return false;
    if (side.slot >= 0 || side.abandoned >= 0 || side.swap != Swap::none || !side.out.empty()) return false;
    for (const bool taken : side.taken)
      if (taken) return false;
  }
  return true;
}

std::string describe(const Joint& joint) {
  std::string text = joint.broken ? "broken:" : "";
  for (const Side& side : joint.sides)
    text += std::string(" [") + kStateNames[static_cast<unsigned>(side.state)] + " lock " + std::to_string(side.lock) +
            " request " + std::to_string(side.request) + " slot " + std::to_string(side.slot) + " abandoned " +
            std::to_string(side.abandoned) + "]";
  return text;
}

// Breadth first over all joint states; every end must be settled, and an end must stay within reach of every state.
void explore(bool first_wants, bool second_wants) {
  Joint start;
  start.sides[0].wants = first_wants;
  start.sides[1].wants = second_wants;
  std::map<std::string, std::size_t> numbers{{start.key(), 0}};
  std::vector<Joint> states{start};
  std::vector<std::vector<std::size_t>> predecessors(1);
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::vector<Joint> next = Explorer::successors(states[i]);
    if (next.empty()) {
      ends.push_back(i);
      ASSERT_TRUE(settled(states[i])) << "ends in" << describe(states[i]);
    }
    for (const Joint& joint : next) {
      ASSERT_FALSE(joint.broken) << describe(joint) << " after" << describe(states[i]);
      const auto [at, fresh] = numbers.try_emplace(joint.key(), states.size());
      if (fresh) {
        states.push_back(joint);
        predecessors.emplace_back();
      }
      predecessors[at->second].push_back(i);
    }
    ASSERT_LT(states.size(), 1'000'000U);
  }
  EXPECT_FALSE(ends.empty());
  std::vector<bool> reaches(states.size(), false);
  std::deque<std::size_t> work(ends.begin(), ends.end());
  for (const std::size_t end : ends) reaches[end] = true;
  while (!work.empty()) {
    const std::size_t at = work.front();
    work.pop_front();
    for (const std::size_t before : predecessors[at])
      if (!reaches[before]) {
        reaches[before] = true;
        work.push_back(before);
      }
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    ASSERT_TRUE(reaches[i]) << "no way to a connection from" << describe(states[i]);
}

TEST(ConnectionMachine, SettlesInEveryOrderWhenTheLowerRankStarts) {
  explore(true, false);
}
TEST(ConnectionMachine, SettlesInEveryOrderWhenTheHigherRankStarts) {
  explore(false, true);
}
TEST(ConnectionMachine, SettlesToOneConnectionInEveryOrderWhenBothStart) {
  explore(true, true);
}

} // namespace
} // namespace heddle::engine::connection
