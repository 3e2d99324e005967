#include "onesided/locks/machine.hpp"

namespace heddle::onesided::lock {

namespace {

// What a state does with an input that the table of the state does not name.
Step otherwise(State state, Input input) {
  switch (input) {
    case Input::lock:
    case Input::try_lock:
    case Input::unlock: return {state, Effect::refuse};
    case Input::told: return {state, Effect::none}; // it has seen so itself, or was never meant
    case Input::lost: return {State::away, state == State::away ? Effect::none : Effect::give_up};
    case Input::free:
    case Input::moved:
    case Input::busy:
    case Input::doubt:
    case Input::served:
    case Input::not_yet:
    case Input::deaths:
    case Input::alone:
    case Input::followed:
    case Input::named: return {state, Effect::violation};
  }
  return {state, Effect::violation};
}

} // namespace

Step step(State state, Input input) {
  switch (state) {
    case State::away:
      if (input == Input::lock) return {State::taking, Effect::take_ticket};
      if (input == Input::try_lock) return {State::trying, Effect::look_first};
      break;
    case State::taking:
      if (input == Input::served) return {State::held, Effect::claim};
      if (input == Input::not_yet) return {State::looking, Effect::claim_and_look};
      break;
    case State::trying:
      if (input == Input::free) return {State::trying, Effect::try_ticket};
      if (input == Input::moved) return {State::trying, Effect::try_again};
      if (input == Input::busy) return {State::away, Effect::end_busy};
      if (input == Input::doubt) return {State::probing, Effect::probe};
      if (input == Input::served) return {State::held, Effect::claim};
      if (input == Input::not_yet) return {State::looking, Effect::claim_and_look};
      break;
    case State::probing:
      if (input == Input::free) return {State::trying, Effect::try_ticket};
      if (input == Input::busy) return {State::away, Effect::end_busy};
      if (input == Input::served) return {State::asking, Effect::ask};
      break;
    case State::looking:
      if (input == Input::told) return {State::looking, Effect::remember};
      if (input == Input::served) return {State::asking, Effect::ask};
      if (input == Input::not_yet) return {State::waiting, Effect::wait};
      break;
    case State::waiting:
      if (input == Input::told || input == Input::served) return {State::asking, Effect::ask};
      break;
    case State::asking:
      if (input == Input::deaths) return {State::held, Effect::hold};
      break;
    case State::held:
      if (input == Input::unlock) return {State::leaving, Effect::serve_next};
      break;
    case State::leaving:
      if (input == Input::alone) return {State::away, Effect::leave};
      if (input == Input::followed) return {State::naming, Effect::ask_name};
      break;
    case State::naming:
      if (input == Input::named) return {State::away, Effect::tell};
      break;
  }
  return otherwise(state, input);
}

} // namespace heddle::onesided::lock
