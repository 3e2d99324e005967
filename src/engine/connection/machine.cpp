#include "engine/connection/machine.hpp"

namespace heddle::engine::connection {

namespace {

// What a state does with an input that the table of the state does not name.
Step otherwise(State state, Input input) {
  switch (input) {
    case Input::ended: return {State::failed, Effect::none};
    case Input::peer_lost:
    case Input::broken:
    case Input::refused: return {State::failed, state == State::failed ? Effect::none : Effect::give_up};
    case Input::start:
    case Input::lock_busy: return {state, Effect::none};
    case Input::lock_taken: return {state, Effect::unlock}; // in `failed` too: the peer may live, and others want in
    case Input::superseded: return {state, Effect::none};   // the last word to an attempt that was given up
    case Input::request_prevails:
    case Input::request_yields:
    case Input::answer:
    case Input::information:
    case Input::acknowledge:
    case Input::to_self:
      return state == State::failed ? Step{state, Effect::none} : Step{State::failed, Effect::violation};
  }
  return {State::failed, Effect::violation};
}

} // namespace

Step step(State state, Input input) {
  switch (state) {
    case State::idle:
      if (input == Input::start) return {State::locking, Effect::lock};
      if (input == Input::to_self) return {State::connected, Effect::establish};
      if (input == Input::request_prevails || input == Input::request_yields)
        return {State::awaiting_information, Effect::answer};
      break;
    case State::locking:
      if (input == Input::lock_taken) return {State::awaiting_answer, Effect::request};
      if (input == Input::lock_busy) return {State::locking, Effect::lock};
      if (input == Input::request_prevails || input == Input::request_yields)
        return {State::awaiting_information, Effect::abandon_and_answer};
      break;
    case State::awaiting_answer:
      if (input == Input::answer) return {State::awaiting_acknowledge, Effect::inform};
      if (input == Input::superseded) return {State::superseded, Effect::none};
      if (input == Input::request_prevails) return {State::awaiting_information, Effect::abandon_and_answer};
      if (input == Input::request_yields) return {State::awaiting_answer, Effect::turn_down};
      break;
    case State::superseded:
      if (input == Input::request_prevails) return {State::awaiting_information, Effect::answer};
      break;
    case State::awaiting_information:
      if (input == Input::information) return {State::connected, Effect::acknowledge};
      break;
    case State::awaiting_acknowledge:
      if (input == Input::acknowledge) return {State::connected, Effect::establish};
      if (input == Input::request_yields) return {state, Effect::turn_down};
      break;
    case State::connected:
      if (input == Input::request_yields) return {state, Effect::turn_down};
      break;
    case State::failed: break;
  }
  return otherwise(state, input);
}

} // namespace heddle::engine::connection
