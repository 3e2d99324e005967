// By which of its addresses this machine is found.
#pragma once

#include "net/endpoint.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::net {

// One address of an interface that is up.
struct Interface {
  std::string name; // "eth0"
  in6_addr host{};
  unsigned prefix = 0; // bits of the network in it, an IPv4 address counted as 32

  // Whether packets to that address would leave by it without a router.
  [[nodiscard]] bool leads_to(const in6_addr& there) const;
  // What its link carries, in bytes a second; nothing where the system does not know.
  [[nodiscard]] std::optional<double> link_rate() const;
};

// Link-local addresses of IPv6 are left out: they mean something only together with an interface of the reader's.
[[nodiscard]] std::vector<Interface> interfaces();

// Those that `wanted` names, in its order: interfaces, addresses or networks, such as "eth0,10.1.0.0/16". An interface that is named, or
// that is in a network, counts once, with its IPv4 address first; an address that is named always counts. bad_option where a part of it
// names none, or is none of these.
Result<std::vector<Interface>> choose(std::string_view wanted, std::span<const Interface> all);

// Equal for processes that reach each other by loopback; with a small chance also for others.
[[nodiscard]] std::uint64_t loopback_identity();

// The address that packets to `there` would leave from; nothing where no route leads there. Sends none.
[[nodiscard]] std::optional<in6_addr> source_towards(const Endpoint& there);
// The address of the interface with the default route.
[[nodiscard]] std::optional<in6_addr> default_source();
// That one; without a default route another one that is not loopback's, and without any, loopback's.
[[nodiscard]] in6_addr outward_address();

} // namespace heddle::net
