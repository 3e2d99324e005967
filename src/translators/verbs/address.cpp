#include "translators/verbs/address.hpp"

#include "base/mix.hpp"

#include <cstring>

namespace heddle::translators::verbs {

namespace {

constexpr std::uint32_t kQueuePairNumbers = 1U << 24U;
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

std::uint64_t key_base_of(std::uint64_t uid) {
  return base::mix(uid) & 0xffff'ffffU;
}

namespace {

struct Short {
  std::uint32_t key = 0;
  std::uint32_t door = 0;           // and above its 24 bits the number of addresses, or 0x80 and the LMC
  std::array<std::byte, 16> rest{}; // on Ethernet the address; otherwise the subnet's prefix and the LID
};
static_assert(sizeof(Short) == 24);
constexpr std::uint32_t kInfiniband = 0x8000'0000;

} // namespace

ir::ShortAddress Place::shorten() const {
  Short packed{.key = static_cast<std::uint32_t>(bootstrap), .door = door};
  packed.door |=
      addresses != 0 ? std::min<std::uint32_t>(addresses, 127) << 24U : kInfiniband | std::uint32_t{lmc} << 24U;
  std::memcpy(packed.rest.data(), gid.data(), gid.size());
  if (addresses == 0) std::memcpy(packed.rest.data() + 8, &lid, sizeof lid);
  ir::ShortAddress made{.size = addresses != 0 ? std::uint8_t{24} : std::uint8_t{18}};
  std::memcpy(made.bytes.data(), &packed, made.size);
  return made;
}

Result<Place> Place::lengthen(std::uint64_t uid, std::span<const std::byte> shortened) {
  Short packed;
  Place place{.uid = uid};
  const std::size_t most = std::min(shortened.size(), sizeof packed);
  std::memcpy(&packed, shortened.data(), most);
  const bool infiniband = (packed.door & kInfiniband) != 0;
  if (shortened.size() != (infiniband ? 18U : 24U)) return unpack({});
  const auto above = static_cast<std::uint8_t>(packed.door >> 24U & 0x7fU);
  place.door = packed.door & (kQueuePairNumbers - 1);
  place.bootstrap = ir::MemoryKey{key_base_of(uid) << 32U | packed.key};
  std::memcpy(place.gid.data(), packed.rest.data(), infiniband ? 8 : 16);
  (infiniband ? place.lmc : place.addresses) = above;
  if (infiniband) std::memcpy(&place.lid, packed.rest.data() + 8, sizeof place.lid);
  return unpack(place.pack());
}

ibv_ah_attr address_vector(const Source& from, const Place& to, std::uint32_t path) {
  ibv_ah_attr vector{};
  vector.port_num = from.port;
  if (to.addresses == 0) {
    // Within a subnet; routers between subnets would need the GID.
    vector.dlid = static_cast<std::uint16_t>(to.lid + path % to.paths());
    vector.src_path_bits = from.path;
    return vector;
  }
  vector.is_global = 1;
  std::memcpy(vector.grh.dgid.raw, to.gid.data(), to.gid.size());
  vector.grh.sgid_index = from.gid_index;
  vector.grh.hop_limit = kHops;
  return vector;
}

} // namespace heddle::translators::verbs
