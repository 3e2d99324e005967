#pragma once

#include <cerrno>
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

/// The error for a call of the system that has failed with `code`: out_of_descriptors where that is why, `otherwise` where it is not.
inline Error system_error(std::string fact, int code, ErrorCode otherwise = ErrorCode::system_failed) {
  const bool descriptors = code == EMFILE || code == ENFILE;
  return {.code = descriptors ? ErrorCode::out_of_descriptors : otherwise,
          .fact = std::move(fact),
          .remedy = descriptors ? "raise the limit on open files (ulimit -n)" : "",
          .peer = kNoPeer,
          .system_code = code};
}

} // namespace heddle
