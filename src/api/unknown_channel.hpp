// What calls say that were given a channel which does not exist.
#pragma once

#include <heddle/heddle.hpp>

#include <string>

namespace heddle::api {

inline std::unexpected<Error> unknown_channel(Channel channel) {
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "channel " + std::to_string(static_cast<unsigned>(channel)) + " does not exist",
                               .remedy = "use Channel::first or Channel::second"});
}

} // namespace heddle::api
