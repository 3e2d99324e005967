#include "net/interfaces.hpp"

#include "base/descriptor.hpp"
#include "base/number_text.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>

namespace heddle::net {

namespace {

unsigned bits_of(const sockaddr* mask, int family) {
  if (mask == nullptr) return 0;
  unsigned bits = 0;
  const auto count = [&](const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bits += static_cast<unsigned>(std::popcount(static_cast<const std::uint8_t*>(bytes)[i]));
  };
  if (family == AF_INET)
    count(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
  else
    count(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
  return bits;
}

constexpr unsigned kIpv4At = 96; // the bits before an IPv4 address in one of IPv6

struct Network {
  in6_addr host{};
  unsigned bits = 0; // of the 128

  [[nodiscard]] bool is_one_address() const { return bits == 128; }

  [[nodiscard]] bool holds(const in6_addr& other) const {
    for (unsigned bit = 0; bit < bits; bit += 8) {
      const unsigned counted = std::min(bits - bit, 8U);
      const auto mask = static_cast<std::uint8_t>(0xff00U >> counted);
      if (((host.s6_addr[bit / 8] ^ other.s6_addr[bit / 8]) & mask) != 0) return false;
    }
    return true;
  }
};

// "10.1.0.0/16", "fd00::/8", or an address alone.
std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto host = parse_host(text.substr(0, slash));
  if (!host) return std::nullopt;
  const unsigned all = IN6_IS_ADDR_V4MAPPED(&*host) ? 32 : 128;
  unsigned bits = all;
  if (slash != std::string_view::npos) {
    const auto said = base::number_in<unsigned>(text.substr(slash + 1));
    if (!said || *said > all) return std::nullopt;
    bits = *said;
  }
  return Network{.host = *host, .bits = bits + (128 - all)};
}

std::string list_of(std::span<const Interface> all) {
  std::string text;
  for (const Interface& each : all) text += (text.empty() ? "" : ", ") + each.name + " " + host_text(each.host);
  return text;
}

} // namespace

bool Interface::leads_to(const in6_addr& there) const {
  return Network{.host = host, .bits = prefix + (IN6_IS_ADDR_V4MAPPED(&host) ? kIpv4At : 0)}.holds(there);
}

std::optional<double> Interface::link_rate() const {
  constexpr double kBytesPerMegabit = 125'000;
  double megabits = 0;
  if (!(std::ifstream("/sys/class/net/" + name + "/speed") >> megabits) || megabits <= 0) return std::nullopt;
  return megabits * kBytesPerMegabit;
}

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<Interface> found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const in6_addr host = address.endpoint().host;
    if (IN6_IS_ADDR_LINKLOCAL(&host)) continue;
    found.push_back({.name = each->ifa_name, .host = host, .prefix = bits_of(each->ifa_netmask, family)});
  }
  std::ranges::stable_partition(found, [](const Interface& each) { return IN6_IS_ADDR_V4MAPPED(&each.host) != 0; });
  return found;
}

Result<std::vector<Interface>> choose(std::string_view wanted, std::span<const Interface> all) {
  std::vector<Interface> chosen;
  const auto is_chosen = [&](const Interface& one, bool by_address) {
    return std::ranges::any_of(chosen, [&](const Interface& each) {
      return by_address ? IN6_ARE_ADDR_EQUAL(&each.host, &one.host) : each.name == one.name;
    });
  };
  for (std::size_t from = 0; from <= wanted.size();) {
    const std::size_t comma = std::min(wanted.find(',', from), wanted.size());
    const std::string_view part = wanted.substr(from, comma - from);
    from = comma + 1;
    const auto network = parse_network(part);
    bool found = false;
    for (const Interface& each : all) {
      if (network ? !network->holds(each.host) : each.name != part) continue;
      found = true;
      if (!is_chosen(each, network && network->is_one_address())) chosen.push_back(each);
    }
    if (!found)
      return std::unexpected(
          Error{.code = ErrorCode::bad_option,
                .fact = "'" + std::string(part.substr(0, 80)) +
                        "' names no interface of this machine that is up; it has " + list_of(all),
                .remedy = "expected interfaces, addresses or networks, such as eth0 or 10.1.0.0/16"});
  }
  return chosen;
}

std::optional<in6_addr> source_towards(const Endpoint& there) {
  Endpoint with_port = there;
  if (with_port.port == 0) with_port.port = 9; // to connect, the system wants one
  SocketAddress address(with_port);
  const base::Descriptor probe(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress own;
  if (!probe.open() || ::connect(probe.number(), address.get(), address.length) != 0 ||
      ::getsockname(probe.number(), own.get(), &own.length) != 0)
    return std::nullopt;
  return own.endpoint().host;
}

std::optional<in6_addr> default_source() {
  // Addresses that are kept for documentation: nobody has them, so only the default route leads there.
  for (const char* nobody : {"192.0.2.1", "2001:db8::1"})
    if (const auto source = source_towards({.host = *parse_host(nobody)})) return source;
  return std::nullopt;
}

in6_addr outward_address() {
  if (const auto source = default_source()) return *source;
  for (const Interface& each : interfaces())
    if (!Endpoint{.host = each.host}.is_loopback()) return each.host;
  return loopback();
}

std::uint64_t loopback_identity() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  std::array<char, 256> target{};
  const ssize_t length = ::readlink("/proc/self/ns/net", target.data(), target.size());
  if (length > 0) text.append(target.data(), static_cast<std::size_t>(length));
  std::uint64_t value = 0xcbf2'9ce4'8422'2325ULL; // FNV-1a: the same in every process, unlike std::hash
  for (const char character : text) value = (value ^ static_cast<unsigned char>(character)) * 0x0000'0100'0000'01b3ULL;
  return value;
}

} // namespace heddle::net
