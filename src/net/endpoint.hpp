// A place on an IP network: an address and a port.
#pragma once

#include <heddle/error.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::net {

struct Endpoint {
  in6_addr host{}; // an IPv4 address in its mapped form
  std::uint16_t port = 0;

  [[nodiscard]] bool is_ipv4() const { return IN6_IS_ADDR_V4MAPPED(&host); }
  [[nodiscard]] bool is_loopback() const;
  // "10.1.0.3:4000", "[fe80::1]:4000"
  [[nodiscard]] std::string text() const;
};

// "10.1.0.3", "fe80::1"
[[nodiscard]] std::string host_text(const in6_addr& host);
// The reverse; nothing where the text is no address. Names are not looked up.
[[nodiscard]] std::optional<in6_addr> parse_host(std::string_view text);
// 127.0.0.1
[[nodiscard]] in6_addr loopback();

// HOST:PORT, [ADDRESS]:PORT; a name is looked up, which waits. bad_option where the text is neither; unreachable where the name is
// not known.
Result<Endpoint> resolve(std::string_view text);
// The same, with all addresses of the host, those first that the system would rather use.
Result<std::vector<Endpoint>> resolve_all(std::string_view text);
// The first address of a host by its name; port 0.
Result<Endpoint> resolve_host(const std::string& host);

// As the system wants it: of either family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint);

  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
  [[nodiscard]] Endpoint endpoint() const;
};

} // namespace heddle::net
