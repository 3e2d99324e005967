// What went wrong first. Whatever follows from it is not said.
#pragma once

#include "engine/engine.hpp"

#include <heddle/error.hpp>

#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace heddle::pattern {

class FirstError {
 public:
  void note(Error error) {
    if (!error_) error_ = std::move(error);
  }
  // The same, of an error that needs memory for its words. Without any it is still one.
  template <typename Make>
    requires std::is_invocable_r_v<Error, Make>
  void note(const Make& make) {
    try {
      if (!error_) error_ = make();
    } catch (const std::bad_alloc&) {
      error_ = engine::Engine::no_memory();
    }
  }
  [[nodiscard]] const std::optional<Error>& get() const { return error_; }

 private:
  std::optional<Error> error_;
};

} // namespace heddle::pattern
