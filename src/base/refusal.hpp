#pragma once

#include <expected>
#include <string>
#include <utility>

#include "heddle/error.hpp"

namespace heddle {

/// The error for a request that cannot be met: `fact` says what is wrong and where, `remedy` what was expected.
inline Error bad_argument(std::string fact, std::string remedy = {}) {
  return {.code = ErrorCode::bad_argument, .fact = std::move(fact), .remedy = std::move(remedy)};
}

/// The same as the answer of a function that returns a Result.
inline std::unexpected<Error> refuse(std::string fact, std::string remedy = {}) {
  return std::unexpected(bad_argument(std::move(fact), std::move(remedy)));
}

} // namespace heddle
