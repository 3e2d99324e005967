// A peer's main segment with anything in its header and table of areas, and any address on its card: an area that can be
// entered and lies inside memory that is mapped, or none.
#include "translators/shm/areas.hpp"

#include "base/fuzz_input.hpp"
#include "translators/shm/shm.hpp"

namespace heddle::fuzz {
namespace {

using segments::Segment;
using translators::AreaEntry;

// One peer's segments, made once: what it may say of them is what is tried.
struct Peer {
  Segment main = *Segment::create(1 << 20);
  Segment area = *Segment::create(4096);
  std::uint64_t table = *main.allocate(translators::area_table_bytes(4));
};

void scribble(Peer& peer, Input& input, std::uint64_t key) {
  const auto bits = input.take<std::uint8_t>();
  auto& header = peer.main.mapping().header();
  header.areas.store((bits & 1U) != 0 ? input.word() : peer.table);
  header.asleep.store(bits & 1U);
  auto* entries = reinterpret_cast<AreaEntry*>(peer.main.mapping().data() + peer.table);
  AreaEntry& entry = entries[key & 1023U];
  translators::AreaContent content;
  entry.key.store((bits & 2U) != 0 ? input.word() : key);
  content.bytes = input.word();
  content.segment = {.process = (bits & 4U) != 0 ? static_cast<std::int32_t>(input.word()) : ::getpid(),
                     .descriptor = (bits & 8U) != 0 ? static_cast<std::int32_t>(input.word()) : peer.area.descriptor(),
                     .inode = (bits & 32U) != 0 ? input.word() : peer.area.inode()};
  content.address = input.word();
  entry.words = std::bit_cast<translators::AreaWords>(content);
}

} // namespace

void areas(Input& input) {
  static Peer peer;
  translators::PeerAreas areas;
  for (int i = 0; i < 4 && !input.empty(); ++i) {
    const std::uint64_t key = translators::kAreaKey | input.word();
    scribble(peer, input, key);
    const auto* found = areas.find(peer.main.mapping(), input.below(4), key, input.below(2) == 1).area;
    if (found == nullptr || !found->direct.exists()) continue;
    demand(found->mapping.bytes() > 0 && found->address <= found->mapping.bytes() &&
               found->bytes <= found->mapping.bytes() - found->address,
           "an area is inside its segment");
    if (!found->direct.enter()) continue;
    if (found->bytes > 0) {
      found->direct.memory[0] = std::byte{1};
      found->direct.memory[found->bytes - 1] = std::byte{1};
    }
    found->direct.leave();
  }
}

} // namespace heddle::fuzz
