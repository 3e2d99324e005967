#include "translators/tcp/address.hpp"

#include <arpa/inet.h>

#include <array>
#include <cstring>

namespace heddle::translators::tcp {

namespace {

constexpr std::uint16_t kMark = 0x7463; // what zeros and other networks' addresses do not have

struct Packed {
  std::array<std::byte, 16> host;
  std::uint16_t port;
  std::uint16_t mark;
  std::uint32_t unused;
  std::uint64_t id;
  std::uint64_t bootstrap;
};
static_assert(sizeof(Packed) == sizeof(ir::Address));

} // namespace

ir::Address Place::pack() const {
  Packed packed{.host = {},
                .port = port,
                .mark = kMark,
                .unused = 0,
                .id = id,
                .bootstrap = static_cast<std::uint64_t>(bootstrap)};
  std::memcpy(packed.host.data(), &host, sizeof host);
  ir::Address address{};
  std::memcpy(address.data(), &packed, sizeof packed);
  return address;
}

Result<Place> Place::unpack(const ir::Address& address) {
  Packed packed{};
  std::memcpy(&packed, address.data(), sizeof packed);
  if (packed.mark != kMark || packed.port == 0 || packed.id == 0)
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "its card has no TCP address"});
  Place place{.host = {}, .port = packed.port, .id = packed.id, .bootstrap = ir::MemoryKey{packed.bootstrap}};
  std::memcpy(&place.host, packed.host.data(), sizeof place.host);
  return place;
}

std::string Place::text() const {
  std::array<char, INET6_ADDRSTRLEN> digits{};
  const bool old = IN6_IS_ADDR_V4MAPPED(&host);
  if (old)
    ::inet_ntop(AF_INET, reinterpret_cast<const std::byte*>(&host) + 12, digits.data(), digits.size());
  else
    ::inet_ntop(AF_INET6, &host, digits.data(), digits.size());
  const std::string shown = digits.data();
  return (old ? shown : "[" + shown + "]") + ":" + std::to_string(port);
}

} // namespace heddle::translators::tcp
