#include "store/dial.hpp"

#include "auth/call.hpp"
#include "base/refusal.hpp"
#include "net/sockets.hpp"
#include "store/address.hpp"
#include "store/wire.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace heddle::store {

namespace {

Error failure(std::string fact, int system_code = 0) {
  return {.code = ErrorCode::store_failed,
          .fact = std::move(fact),
          .remedy = "",
          .peer = kNoPeer,
          .system_code = system_code};
}

// connect(2) of a unix socket blocks only while the listener's queue is full; the send timeout bounds that.
Result<base::Descriptor> dial_unix(const std::string& address, base::Deadline deadline) {
  const auto parsed = parse_address(address);
  if (!parsed) return std::unexpected(parsed.error());
  base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open())
    return std::unexpected(system_error("cannot create a socket to the store", errno, ErrorCode::store_failed));
  const int left = std::max(1, base::milliseconds_until(deadline));
  const timeval timeout{.tv_sec = left / 1000, .tv_usec = (left % 1000) * 1000};
  ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&parsed->address), parsed->length) != 0) {
    if (errno == EAGAIN)
      return std::unexpected(Error{.code = ErrorCode::timed_out, .fact = "the store did not answer in time"});
    return std::unexpected(failure("nobody is listening at the store's address " + address, errno));
  }
  if (!same_user(socket.number())) {
    return std::unexpected(failure("the store at " + address + " belongs to another user"));
  }
  return socket;
}

Result<base::Descriptor> dial_tcp(std::string_view place, const std::optional<auth::Secret>& secret,
                                  base::Deadline deadline) {
  auto there = net::resolve_all(place);
  if (!there) {
    there.error().fact = "store address 'tcp:" + std::string(place.substr(0, 200)) + "': " + there.error().fact;
    return std::unexpected(std::move(there.error()));
  }
  if (!secret)
    return std::unexpected(
        Error{.code = ErrorCode::bad_option,
              .fact = "the store at " + there->front().text() + " wants a secret, and HEDDLE_SECRET is not set",
              .remedy = "heddle run sets it together with HEDDLE_STORE"});
  Result<base::Descriptor> socket = auth::call(there->front(), *secret, kService, deadline);
  for (std::size_t i = 1; i < there->size() && !socket && socket.error().system_code != 0; ++i)
    socket =
        auth::call((*there)[i], *secret, kService, deadline); // nobody answered, and a host may have several addresses
  if (!socket) {
    Error error = std::move(socket.error());
    if (error.code == ErrorCode::unreachable) error.code = ErrorCode::store_failed;
    error.fact = "the store is not reached: " + error.fact;
    return std::unexpected(std::move(error));
  }
  net::keep_asking(socket->number(), kSilence);
  return socket;
}

} // namespace

Result<base::Descriptor> dial(const std::string& address, const std::optional<auth::Secret>& secret,
                              base::Deadline deadline) {
  if (address.starts_with(kByTcp)) return dial_tcp(std::string_view(address).substr(kByTcp.size()), secret, deadline);
  return dial_unix(address, deadline);
}

} // namespace heddle::store
