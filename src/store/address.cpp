#include "store/address.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/clock.hpp"

namespace heddle::store {

Result<SocketAddress> parse_address(std::string_view text) {
  constexpr std::string_view kScheme = "unix:";
  SocketAddress result;
  result.address.sun_family = AF_UNIX;
  const std::string_view name = text.starts_with(kScheme) ? text.substr(kScheme.size()) : std::string_view{};
  if (name.empty() || name == "@" || name.size() >= sizeof result.address.sun_path) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_option,
              .fact = "store address '" + std::string(text.substr(0, 200)) + "' cannot be used",
              .remedy = "expected unix:@NAME or unix:PATH of at most 107 characters, or tcp:HOST:PORT"});
  }
  std::memcpy(result.address.sun_path, name.data(), name.size());
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (name.front() == '@') {
    result.address.sun_path[0] = '\0';
  } else {
    ++result.length; // a path counts its terminating zero
  }
  return result;
}

std::string address_of_job(std::string_view job) {
  return "unix:@heddle-" + std::string(job);
}

std::string new_job_id() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
    bits = base::steady_ns() ^ (static_cast<std::uint64_t>(::getpid()) << 40);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned shift = 0; shift < 64; shift += 4) text.push_back(kDigits[(bits >> shift) & 15]);
  return text;
}

bool same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  return credentials.uid == ::geteuid();
}

} // namespace heddle::store
