#include "translators/verbs/address.hpp"

#include <cstring>

namespace heddle::translators::verbs {

namespace {

constexpr std::uint32_t kQueuePairNumbers = 1U << 24U;
constexpr std::uint8_t kMostLmc = 7;
constexpr std::uint8_t kHops = 64;

} // namespace

ir::Address Place::pack() const {
  ir::Address address;
  std::memcpy(address.data(), this, sizeof *this);
  return address;
}

Result<Place> Place::unpack(const ir::Address& address) {
  Place place;
  std::memcpy(&place, address.data(), sizeof place);
  const bool sound = place.door != 0 && place.door < kQueuePairNumbers && place.lmc <= kMostLmc &&
                     (place.addresses != 0) == (place.lid == 0) && place.uid != 0;
  if (sound) return place;
  return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "its address is none of InfiniBand or RoCE"});
}

ibv_ah_attr address_vector(const Source& from, const Place& to, std::uint32_t lid_offset) {
  ibv_ah_attr vector{};
  vector.port_num = from.port;
  if (to.addresses == 0) {
    // Within a subnet; routers between subnets would need the GID.
    vector.dlid = static_cast<std::uint16_t>(to.lid + lid_offset);
    return vector;
  }
  vector.is_global = 1;
  std::memcpy(vector.grh.dgid.raw, to.gid.data(), to.gid.size());
  vector.grh.sgid_index = from.gid_index;
  vector.grh.hop_limit = kHops;
  return vector;
}

} // namespace heddle::translators::verbs
