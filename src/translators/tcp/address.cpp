#include "translators/tcp/address.hpp"

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

Result<Place> Place::unpack(const ir::Address& address) {
  Packed packed{};
  std::memcpy(&packed, address.data(), sizeof packed);
  if (packed.mark != kMark || packed.port == 0 || packed.id == 0)
    return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "its card has no TCP address"});
  Place place{.endpoint = {.host = {}, .port = packed.port},
              .id = packed.id,
              .bootstrap = ir::MemoryKey{packed.bootstrap},
              .machine = packed.machine};
  std::memcpy(&place.endpoint.host, packed.host.data(), sizeof place.endpoint.host);
  return place;
}

} // namespace heddle::translators::tcp
