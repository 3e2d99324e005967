// The way from a context to what it is made of, and back: for what is built on the library from inside.
#pragma once

#include "api/state.hpp"

namespace heddle {

class ContextAccess {
 public:
  using State = Context::State;
  static Context make(std::unique_ptr<State> state) { return Context(std::move(state)); }
  static State& state(Context& context) { return *context.state_; }
};

} // namespace heddle
