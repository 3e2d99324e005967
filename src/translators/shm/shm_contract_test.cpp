#include "translators/contract/contract.hpp"
#include "translators/contract/open_world.hpp"
#include "translators/shm/shm.hpp"

namespace heddle::translators::contract {

// Two translators of one process, each mapping the other's segment as two processes would.
template <CrossMemory Wish>
class ShmNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return *peers_[rank]; }
  Contact nobody() override {
    Contact contact{.peer = ir::Peer{1}, .address = {}};
    contact.address.fill(std::byte{0x7f});
    return contact;
  }
  Contact gone() override { return {.peer = ir::Peer{1}, .address = make()->address()}; }

 private:
  static std::unique_ptr<Shm> make() {
    auto made = Shm::create({.size = 2, .ring_memory = 8U << 20U, .cross_memory = Wish});
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }

  std::array<std::unique_ptr<Shm>, 2> peers_ = {make(), make()};
};

using CrossMemoryNetwork = ShmNetwork<CrossMemory::automatic>;
using CopyingNetwork = ShmNetwork<CrossMemory::off>;
HEDDLE_TRANSLATOR_CONTRACT(Shm, CrossMemoryNetwork);
HEDDLE_TRANSLATOR_CONTRACT(ShmWithoutCrossMemory, CopyingNetwork);

std::unique_ptr<ir::Translator> open_shm(std::uint64_t uid) {
  auto made = Shm::create({.uid = uid, .ring_memory = 1U << 20U});
  EXPECT_TRUE(made) << made.error().message();
  return std::move(*made);
}
HEDDLE_OPEN_WORLD_CONTRACT(Shm, open_shm);

} // namespace heddle::translators::contract
