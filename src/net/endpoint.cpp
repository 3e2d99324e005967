#include "net/endpoint.hpp"

#include "base/number_text.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::net {

namespace {

in6_addr mapped(const in_addr& address) {
  in6_addr host{};
  host.s6_addr[10] = 0xff;
  host.s6_addr[11] = 0xff;
  std::memcpy(host.s6_addr + 12, &address, sizeof address);
  return host;
}

std::unexpected<Error> no_endpoint(std::string_view text) {
  return std::unexpected(Error{.code = ErrorCode::bad_option,
                               .fact = "'" + std::string(text.substr(0, 200)) + "' is no host and port",
                               .remedy = "expected HOST:PORT, such as node1:4000, 10.1.0.3:4000 or [fd00::1]:4000"});
}

// At least one; port 0.
Result<std::vector<Endpoint>> addresses_of(const std::string& host) {
  if (const auto address = parse_host(host)) return std::vector{Endpoint{.host = *address}};
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (status != 0)
    return std::unexpected(
        Error{.code = ErrorCode::unreachable,
              .fact = "the address of host '" + host.substr(0, 200) + "' is not known: " + ::gai_strerror(status)});
  std::vector<Endpoint> all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress address;
    address.length = std::min<socklen_t>(each->ai_addrlen, sizeof address.storage);
    std::memcpy(&address.storage, each->ai_addr, address.length);
    all.push_back({.host = address.endpoint().host});
  }
  ::freeaddrinfo(found);
  return all;
}

} // namespace

bool Endpoint::is_loopback() const {
  return is_ipv4() ? host.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&host);
}

std::string Endpoint::text() const {
  return (is_ipv4() ? host_text(host) : "[" + host_text(host) + "]") + ":" + std::to_string(port);
}

std::string host_text(const in6_addr& host) {
  std::array<char, INET6_ADDRSTRLEN> digits{};
  if (IN6_IS_ADDR_V4MAPPED(&host))
    ::inet_ntop(AF_INET, host.s6_addr + 12, digits.data(), digits.size());
  else
    ::inet_ntop(AF_INET6, &host, digits.data(), digits.size());
  return digits.data();
}

std::optional<in6_addr> parse_host(std::string_view text) {
  const std::string ended(text);
  in_addr short_form{};
  if (::inet_pton(AF_INET, ended.c_str(), &short_form) == 1) return mapped(short_form);
  in6_addr host{};
  if (::inet_pton(AF_INET6, ended.c_str(), &host) == 1) return host;
  return std::nullopt;
}

in6_addr loopback() {
  return mapped({.s_addr = htonl(INADDR_LOOPBACK)});
}

Result<std::vector<Endpoint>> resolve_all(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_endpoint(text);
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto port = base::number_in<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0) return no_endpoint(text);
  if (host.find(':') != std::string_view::npos && !bracketed) return no_endpoint(text);
  auto found = addresses_of(std::string(host));
  if (found)
    for (Endpoint& each : *found) each.port = *port;
  return found;
}

Result<Endpoint> resolve(std::string_view text) {
  auto all = resolve_all(text);
  if (!all) return std::unexpected(std::move(all.error()));
  return all->front();
}

Result<Endpoint> resolve_host(const std::string& host) {
  auto all = addresses_of(host);
  if (!all) return std::unexpected(std::move(all.error()));
  return all->front();
}

SocketAddress::SocketAddress(const Endpoint& endpoint) {
  if (endpoint.is_ipv4()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    std::memcpy(&address.sin_addr, endpoint.host.s6_addr + 12, sizeof address.sin_addr);
    std::memcpy(&storage, &address, sizeof address);
    length = sizeof address;
  } else {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(endpoint.port);
    address.sin6_addr = endpoint.host;
    std::memcpy(&storage, &address, sizeof address);
    length = sizeof address;
  }
}

Endpoint SocketAddress::endpoint() const {
  if (family() == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    return {.host = mapped(address.sin_addr), .port = ntohs(address.sin_port)};
  }
  sockaddr_in6 address{};
  std::memcpy(&address, &storage, sizeof address);
  return {.host = address.sin6_addr, .port = ntohs(address.sin6_port)};
}

} // namespace heddle::net
