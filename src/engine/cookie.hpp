// What a command's event is about: the cookie's top byte says its kind, the rest is a number of that kind's own, such as a rank, an
// operation's index or an assist's number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::engine {

enum class CookieKind : std::uint64_t {
  common_slot_lock = 1,
  directory,
  claim,
  read,
  assist_claim,
  assist_copy,
  transfer, // this one and the next two are the one-sided room's
  group_put,
  lock_step,
  prepared,  // whoever posts commands beside the protocols
  block_read // of a collective
};
inline constexpr std::size_t kCookieKinds = 12;

constexpr std::uint64_t make_cookie(CookieKind kind, std::uint64_t number) {
  return (static_cast<std::uint64_t>(kind) << 56U) | number;
}
constexpr CookieKind cookie_kind(std::uint64_t cookie) {
  return static_cast<CookieKind>(cookie >> 56U);
}
constexpr std::uint64_t cookie_number(std::uint64_t cookie) {
  return cookie & 0x00ff'ffff'ffff'ffffULL;
}

} // namespace heddle::engine
