// How contact with a peer ended: peer_failed, connection_lost or peer_left; for a pattern also pattern_freed.
#pragma once

#include <heddle/error.hpp>

namespace heddle::engine {

// Which of two to report: a death explains more than a lost connection, and that more than a departure.
constexpr int gravity(ErrorCode fate) {
  if (fate == ErrorCode::peer_failed) return 4;
  if (fate == ErrorCode::connection_lost) return 3;
  if (fate == ErrorCode::peer_left) return 2;
  return fate == ErrorCode::ok ? 0 : 1;
}
constexpr ErrorCode graver(ErrorCode one, ErrorCode other) {
  return gravity(other) > gravity(one) ? other : one;
}

} // namespace heddle::engine
