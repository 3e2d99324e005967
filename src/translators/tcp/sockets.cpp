#include "translators/tcp/sockets.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace heddle::translators::tcp {

namespace {

constexpr int kWaiting = 128; // connections that the system keeps until they are accepted

// As the system wants it: of either family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] std::uint16_t port() const { // it stands at the same place in both
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
};

int family_of(const Place& place) {
  return IN6_IS_ADDR_V4MAPPED(&place.host) ? AF_INET : AF_INET6;
}

SocketAddress socket_address(const Place& place) {
  SocketAddress made;
  if (family_of(place) == AF_INET) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(place.port);
    std::memcpy(&address.sin_addr, place.host.s6_addr + 12, sizeof address.sin_addr);
    std::memcpy(&made.storage, &address, sizeof address);
    made.length = sizeof address;
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(place.port);
    address.sin6_addr = place.host;
    std::memcpy(&made.storage, &address, sizeof address);
    made.length = sizeof address;
  }
  return made;
}

std::unexpected<Error> failure(ErrorCode code, const std::string& what, int reason) {
  return std::unexpected(
      Error{.code = code, .fact = what + ": " + std::generic_category().message(reason), .system_code = reason});
}

base::Descriptor make_socket(const Place& place) {
  return base::Descriptor(::socket(family_of(place), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

} // namespace

Result<base::Descriptor> listen_at(Place& place) {
  base::Descriptor listener = make_socket(place);
  if (!listener.open()) return failure(ErrorCode::system_failed, "TCP has no socket", errno);
  SocketAddress address = socket_address(place);
  if (::bind(listener.number(), address.get(), address.length) != 0 || ::listen(listener.number(), kWaiting) != 0 ||
      ::getsockname(listener.number(), address.get(), &address.length) != 0)
    return failure(ErrorCode::system_failed, "TCP cannot listen at " + place.text(), errno);
  place.port = address.port();
  return listener;
}

int connect_error(int socket) {
  int reason = 0;
  socklen_t length = sizeof reason;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &length) != 0) return errno;
  if (reason != 0) return reason;
  SocketAddress peer;
  return ::getpeername(socket, peer.get(), &peer.length) == 0 ? 0 : EINPROGRESS;
}

Result<base::Descriptor> begin_connect(const Place& place) {
  base::Descriptor made = make_socket(place);
  if (!made.open()) return failure(ErrorCode::system_failed, "TCP has no socket", errno);
  send_at_once(made.number());
  SocketAddress address = socket_address(place);
  int reason = ::connect(made.number(), address.get(), address.length) == 0 ? 0 : errno;
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
