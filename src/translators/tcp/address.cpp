#include "translators/tcp/address.hpp"

#include "base/mix.hpp"

#include <array>
#include <cstring>

namespace heddle::translators::tcp {

namespace {

constexpr std::uint16_t kMark = 0x7463; // what zeros and other networks' addresses do not have

struct Packed {
  std::array<std::byte, 16> host;
  std::uint16_t port;
  std::uint16_t mark;
  std::uint32_t machine;
  std::uint64_t id;
  std::uint64_t bootstrap;
};
static_assert(sizeof(Packed) == sizeof(ir::Address));

constexpr std::size_t kPrefixBytes = 12; // of an IPv4 address in its mapped form
constexpr std::size_t kIpv4Bytes = 4;

std::unexpected<Error> no_address() {
  return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "it has given no TCP address"});
}

} // namespace

ir::Address Place::pack() const {
  Packed packed{.host = {},
                .port = endpoint.port,
                .mark = kMark,
                .machine = machine,
                .id = id,
                .bootstrap = static_cast<std::uint64_t>(bootstrap)};
  std::memcpy(packed.host.data(), &endpoint.host, sizeof endpoint.host);
  ir::Address address{};
  std::memcpy(address.data(), &packed, sizeof packed);
  return address;
}

// Port, machine, host: the last four bytes of it alone where it is an IPv4 address.
ir::ShortAddress Place::shorten() const {
  ir::ShortAddress made;
  const auto append = [&](const void* from, std::size_t bytes) {
    std::memcpy(made.bytes.data() + made.size, from, bytes);
    made.size = static_cast<std::uint8_t>(made.size + bytes);
  };
  append(&endpoint.port, sizeof endpoint.port);
  append(&machine, sizeof machine);
  if (endpoint.is_ipv4())
    append(endpoint.host.s6_addr + kPrefixBytes, kIpv4Bytes);
  else
    append(&endpoint.host, sizeof endpoint.host);
  return made;
}

Result<Place> Place::lengthen(std::uint64_t id, std::span<const std::byte> shortened) {
  Place place{.id = id, .bootstrap = bootstrap_of(id)};
  constexpr std::size_t kHostAt = sizeof place.endpoint.port + sizeof place.machine;
  const bool is_ipv4 = shortened.size() == kHostAt + kIpv4Bytes;
  if (!is_ipv4 && shortened.size() != kHostAt + sizeof place.endpoint.host) return no_address();
  std::memcpy(&place.endpoint.port, shortened.data(), sizeof place.endpoint.port);
  std::memcpy(&place.machine, shortened.data() + sizeof place.endpoint.port, sizeof place.machine);
  const std::size_t at = is_ipv4 ? kPrefixBytes : 0;
  if (is_ipv4) place.endpoint.host = net::loopback(); // whose prefix is that of all
  std::memcpy(place.endpoint.host.s6_addr + at, shortened.data() + kHostAt, shortened.size() - kHostAt);
  if (place.endpoint.port == 0 || id == 0) return no_address();
  return place;
}

ir::MemoryKey bootstrap_of(std::uint64_t id) {
  return ir::MemoryKey{base::mix(id)};
}

Result<Place> Place::unpack(const ir::Address& address) {
  Packed packed{};
  std::memcpy(&packed, address.data(), sizeof packed);
  if (packed.mark != kMark || packed.port == 0 || packed.id == 0) return no_address();
  Place place{.endpoint = {.host = {}, .port = packed.port},
              .id = packed.id,
              .bootstrap = ir::MemoryKey{packed.bootstrap},
              .machine = packed.machine};
  std::memcpy(&place.endpoint.host, packed.host.data(), sizeof place.endpoint.host);
  return place;
}

} // namespace heddle::translators::tcp
