#include "net/sockets.hpp"

#include "base/number_text.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

namespace heddle::net {

namespace {

constexpr int kWaiting = 1024; // connections that the system keeps until they are accepted

std::unexpected<Error> failure(ErrorCode code, const std::string& what, int reason) {
  const bool descriptors = reason == EMFILE || reason == ENFILE;
  return std::unexpected(Error{.code = descriptors ? ErrorCode::out_of_descriptors : code,
                               .fact = what + ": " + std::generic_category().message(reason),
                               .remedy = descriptors ? "raise the limit on open files (ulimit -n)" : "",
                               .system_code = reason});
}

base::Descriptor make_socket(const SocketAddress& address) {
  return base::Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

base::Descriptor make_listener(const SocketAddress& address, PortRange ports) {
  base::Descriptor made = make_socket(address);
  if (!made.open()) return made;
  // A port of which only old connections are left can be listened at again.
  if (ports.first != 0) set(made.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  // At no address in particular means at those of both families, whatever the system's own rule is.
  if (address.family() == AF_INET6) set(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  return made;
}

std::optional<std::uint16_t> port_number(std::string_view text) {
  const auto port = base::number_in<std::uint16_t>(text);
  return port == 0 ? std::nullopt : port;
}

} // namespace

Result<PortRange> PortRange::parse(std::string_view text) {
  if (text == "any") return PortRange{};
  const std::size_t dash = text.find('-');
  const auto first = port_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : port_number(text.substr(dash + 1));
  if (!first || !last || *last < *first)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "'" + std::string(text.substr(0, 80)) + "' is no range of ports",
                                 .remedy = "expected any, one port such as 20000, or a range such as 20000-20999"});
  return PortRange{.first = *first, .last = *last};
}

Result<base::Descriptor> listen_at(Endpoint& place, PortRange ports) {
  base::Descriptor listener = make_listener(SocketAddress(place), ports);
  if (!listener.open() && errno == EAFNOSUPPORT && IN6_IS_ADDR_UNSPECIFIED(&place.host)) { // a system without IPv6
    place.host = parse_host("0.0.0.0").value();
    listener = make_listener(SocketAddress(place), ports);
  }
  if (!listener.open()) return failure(ErrorCode::system_failed, "there is no TCP socket", errno);
  // Several processes look for a port at once: each begins elsewhere.
  const std::uint32_t count = std::uint32_t{ports.last} - ports.first + 1;
  const auto start = static_cast<std::uint32_t>(::getpid()) % count;
  int reason = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    place.port = static_cast<std::uint16_t>(ports.first + (start + i) % count);
    SocketAddress address(place);
    if (::bind(listener.number(), address.get(), address.length) == 0 && ::listen(listener.number(), kWaiting) == 0 &&
        ::getsockname(listener.number(), address.get(), &address.length) == 0) {
      place.port = address.endpoint().port;
      return listener;
    }
    reason = errno;
    if (reason != EADDRINUSE && reason != EACCES) break; // the ports of a range may be of both kinds
    if (i + 1 < count) {                                 // a socket that was bound and could not listen stays bound
      listener = make_listener(address, ports);
      if (!listener.open()) return failure(ErrorCode::system_failed, "there is no TCP socket", errno);
    }
  }
  if (count > 1) {
    auto none = failure(ErrorCode::system_failed,
                        "no port from " + std::to_string(ports.first) + " to " + std::to_string(ports.last) + " of " +
                            host_text(place.host) + " is free to listen at",
                        reason);
    if (none.error().remedy.empty())
      none.error().remedy =
          "widen option tcp.ports: each process listens at one for each network, heddle run --hosts at two";
    return none;
  }
  return failure(ErrorCode::system_failed, "cannot listen at " + place.text(), reason);
}

int connect_error(int socket) {
  int reason = 0;
  socklen_t length = sizeof reason;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &length) != 0) return errno;
  if (reason != 0) return reason;
  SocketAddress peer;
  if (::getpeername(socket, peer.get(), &peer.length) == 0) return 0;
  tcp_info info{};
  length = sizeof info;
  const bool closed = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
  return closed ? ECONNRESET : EINPROGRESS;
}

Result<base::Descriptor> begin_connect(const Endpoint& place, const in6_addr* from) {
  SocketAddress address(place);
  base::Descriptor made = make_socket(address);
  if (!made.open()) return failure(ErrorCode::system_failed, "there is no TCP socket", errno);
  set(made.number(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (from != nullptr) {
    SocketAddress source(Endpoint{.host = *from});
    if (::bind(made.number(), source.get(), source.length) != 0)
      return failure(ErrorCode::unreachable, "no connection can be made from " + host_text(*from), errno);
  }
  int reason = ::connect(made.number(), address.get(), address.length) == 0 ? 0 : errno;
  if (reason == EINPROGRESS) reason = connect_error(made.number());
  if (reason != 0 && reason != EINPROGRESS)
    return failure(ErrorCode::unreachable, "nobody answers at " + place.text(), reason);
  return made;
}

base::Descriptor accept_one(int listener) {
  base::Descriptor taken(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (taken.open()) set(taken.number(), IPPROTO_TCP, TCP_NODELAY, 1);
  return taken;
}

std::size_t send_some(int socket, std::span<iovec> pieces) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  ssize_t sent = 0;
  if (pieces.size() == 1) { // quicker
    sent = ::send(socket, pieces[0].iov_base, pieces[0].iov_len, kFlags);
  } else {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    sent = ::sendmsg(socket, &message, kFlags);
  }
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

void send_together(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 0);
}

void send_at_once(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

void confirm(int socket) {
  set(socket, IPPROTO_TCP, TCP_QUICKACK, 1);
}

std::ptrdiff_t receive_some(int socket, std::span<iovec> pieces) {
  errno = 0;
  const ssize_t got = pieces.size() == 1 ? ::recv(socket, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT)
                                         : ::readv(socket, pieces.data(), static_cast<int>(pieces.size()));
  if (got > 0) return got;
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

std::size_t unconfirmed(int socket) {
  int bytes = 0;
  return ::ioctl(socket, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void hurry_if_local(int socket) {
  SocketAddress here;
  SocketAddress there;
  if (::getsockname(socket, here.get(), &here.length) != 0 || ::getpeername(socket, there.get(), &there.length) != 0)
    return;
  const in6_addr own = here.endpoint().host;
  const in6_addr other = there.endpoint().host;
  if (!IN6_ARE_ADDR_EQUAL(&own, &other)) return;
  constexpr std::string_view kPlain = "reno"; // every system has it, and lets everybody use it
  ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size());
}

void reset_when_closed(int socket) {
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

bool wait_for(int socket, short events, base::Deadline deadline) {
  pollfd entry{.fd = socket, .events = events, .revents = 0};
  while (true) {
    const int ready = ::poll(&entry, 1, base::milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && base::Clock::now() >= deadline) return false;
  }
}

namespace {

constexpr int kMostQuestions = 64; // of the 127 that the system asks at most

} // namespace

void keep_asking(int socket, std::chrono::seconds limit) {
  // Not TCP_USER_TIMEOUT: it also ends a connection whose other side lives and does not read.
  const int seconds = std::max(static_cast<int>(limit.count()), 2);
  const int idle = std::min(seconds / 2, 2);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle);
  const int between = 1 + (seconds - idle) / kMostQuestions;
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, between);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, (seconds - idle + between - 1) / between);
  // While something waits to be sent the system does not ask so, but repeats what it has sent, or asks whether there is room: ever more
  // seldom, up to two minutes. Linux 6.15 and later can be told how seldom at most. It gives up after some 15 times that, which must
  // be longer than the limit.
  constexpr int kLongestBetween = 44; // TCP_RTO_MAX_MS
  set(socket, IPPROTO_TCP, kLongestBetween, std::clamp(seconds * 1000 / 8, 1000, 120'000));
}

bool is_silent(int socket, std::chrono::seconds limit) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  // One probe may just be on its way: of a window that is full for long the system seldom asks.
  const bool asked = info.tcpi_unacked > 0 || info.tcpi_probes >= 2;
  return asked && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= limit;
}

bool is_silence(int reason) {
  // The last two where a router, or the own machine, has said meanwhile why it comes no further.
  return reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH;
}

} // namespace heddle::net
