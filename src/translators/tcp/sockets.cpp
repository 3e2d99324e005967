#include "translators/tcp/sockets.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace heddle::translators::tcp {

namespace {

constexpr int kWaiting = 128; // connections that the system keeps until they are accepted

sockaddr_in6 socket_address(const Place& place) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(place.port);
  address.sin6_addr = place.host;
  return address;
}

std::unexpected<Error> failure(ErrorCode code, const std::string& what, int reason) {
  return std::unexpected(
      Error{.code = code, .fact = what + ": " + std::generic_category().message(reason), .system_code = reason});
}

// One for both families: IPv4 is reached by mapped addresses.
base::Descriptor make_socket() {
  base::Descriptor made(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int off = 0;
  if (made.open()) ::setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  return made;
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

} // namespace

Result<base::Descriptor> listen_at(Place& place) {
  base::Descriptor listener = make_socket();
  if (!listener.open()) return failure(ErrorCode::system_failed, "TCP has no socket", errno);
  sockaddr_in6 address = socket_address(place);
  socklen_t length = sizeof address;
  if (::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener.number(), kWaiting) != 0 ||
      ::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return failure(ErrorCode::system_failed, "TCP cannot listen at " + place.text(), errno);
  place.port = ntohs(address.sin6_port);
  return listener;
}

int connect_error(int socket) {
  int reason = 0;
  socklen_t length = sizeof reason;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &length) != 0) return errno;
  if (reason != 0) return reason;
  sockaddr_in6 peer{};
  length = sizeof peer;
  return ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) == 0 ? 0 : EINPROGRESS;
}

Result<base::Descriptor> begin_connect(const Place& place) {
  base::Descriptor made = make_socket();
  if (!made.open()) return failure(ErrorCode::system_failed, "TCP has no socket", errno);
  send_at_once(made.number());
  const sockaddr_in6 address = socket_address(place);
  int reason = ::connect(made.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  if (reason == EINPROGRESS) reason = connect_error(made.number());
  if (reason != 0 && reason != EINPROGRESS)
    return failure(ErrorCode::unreachable, "nobody answers at " + place.text(), reason);
  return made;
}

base::Descriptor accept_one(int listener) {
  base::Descriptor taken(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (taken.open()) send_at_once(taken.number());
  return taken;
}

std::size_t send_some(int socket, std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

std::ptrdiff_t receive_some(int socket, std::span<iovec> pieces) {
  const ssize_t got = ::readv(socket, pieces.data(), static_cast<int>(pieces.size()));
  if (got > 0) return got;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

} // namespace heddle::translators::tcp
