#include "engine/rings/grant_by_read.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::engine::grant_by_read {
namespace {

// Every state with every input; states of the other protocol behave as those that have not been granted a ring.
TEST(AllocationMachine, KnowsEveryPair) {
  for (unsigned s = 0; s < connection::kStates; ++s) {
    const auto state = static_cast<State>(s);
    const bool failed = state == State::failed;

    const Step start = step(state, Input::start);
    EXPECT_EQ(start.next, state == State::idle ? State::awaiting_answer : state) << s;
    EXPECT_EQ(start.effect, state == State::idle ? Effect::ask : Effect::none) << s;

    const Step grant = step(state, Input::grant);
    const bool awaited = state == State::awaiting_answer;
    EXPECT_EQ(grant.next, awaited ? State::connected : State::failed) << s;
    EXPECT_EQ(grant.effect, awaited ? Effect::establish : failed ? Effect::none : Effect::violation) << s;

    for (const Input input : {Input::refused, Input::peer_lost}) {
      EXPECT_EQ(step(state, input).next, State::failed) << s;
      EXPECT_EQ(step(state, input).effect, failed ? Effect::none : Effect::give_up) << s;
    }
  }
}

TEST(AllocationMachine, EndsConnectedOrFailedAndStaysThere) {
  State state = State::idle;
  state = step(state, Input::start).next;
  state = step(state, Input::grant).next;
  EXPECT_EQ(state, State::connected);
  EXPECT_EQ(step(state, Input::start).next, State::connected);
  state = step(state, Input::peer_lost).next;
  EXPECT_EQ(step(state, Input::start).next, State::failed);
}

} // namespace
} // namespace heddle::engine::grant_by_read
