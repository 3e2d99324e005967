#include "heddle/error.hpp"

#include <cstring>

namespace heddle {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok: return "ok";
    case ErrorCode::bad_argument: return "bad_argument";
    case ErrorCode::bad_option: return "bad_option";
    case ErrorCode::no_launcher: return "no_launcher";
    case ErrorCode::store_failed: return "store_failed";
    case ErrorCode::already_joined: return "already_joined";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::out_of_descriptors: return "out_of_descriptors";
    case ErrorCode::unreachable: return "unreachable";
    case ErrorCode::peer_failed: return "peer_failed";
    case ErrorCode::peer_left: return "peer_left";
    case ErrorCode::connection_lost: return "connection_lost";
    case ErrorCode::truncated: return "truncated";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::stale_request: return "stale_request";
    case ErrorCode::timed_out: return "timed_out";
    case ErrorCode::would_block: return "would_block";
    case ErrorCode::unknown_area: return "unknown_area";
    case ErrorCode::closed_area: return "closed_area";
    case ErrorCode::out_of_range: return "out_of_range";
    case ErrorCode::revoked_area: return "revoked_area";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::lock_busy: return "lock_busy";
    case ErrorCode::holder_died: return "holder_died";
    case ErrorCode::pattern_freed: return "pattern_freed";
    case ErrorCode::system_failed: return "system_failed";
  }
  return "unknown";
}

namespace {

// strerror for the values that are errno's; a vendor's own code is shown as a number only.
std::string describe_system_code(int code) {
  std::string text = "errno " + std::to_string(code);
  char buffer[128];
  if (code > 0 && code < 4096) text.append(" ").append(strerror_r(code, buffer, sizeof buffer));
  return text;
}

// A message is one line whatever went into it.
void flatten(std::string& text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
}

} // namespace

std::string Error::message() const {
  std::string text(to_string(code));
  text.append(": ").append(fact);
  if (!remedy.empty() || system_code != 0) {
    text.append(" (");
    if (!remedy.empty()) text.append("remedy: ").append(remedy);
    if (!remedy.empty() && system_code != 0) text.append("; ");
    if (system_code != 0) text.append(describe_system_code(system_code));
    text.append(")");
  }
  flatten(text);
  return text;
}

} // namespace heddle
