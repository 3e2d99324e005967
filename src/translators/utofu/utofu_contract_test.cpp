#include "translators/contract/contract.hpp"
#include "translators/utofu/utofu_for_tests.hpp"

namespace heddle::translators::contract {
namespace {

// Both peers on one node of the machine that libtofucom.so emulates.
class UtofuNetwork final : public Network {
 public:
  ir::Translator& at(std::uint32_t rank) override { return *peers_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{3}, .address = {}}; }
  Contact gone() override { return {.peer = ir::Peer{2}, .address = utofu_of(2, HEDDLE_TOFU_EMULATION)->address()}; }

 private:
  std::array<std::unique_ptr<Utofu>, 2> peers_ = {utofu_of(0, HEDDLE_TOFU_EMULATION),
                                                  utofu_of(1, HEDDLE_TOFU_EMULATION)};
};

HEDDLE_TRANSLATOR_CONTRACT(Utofu, UtofuNetwork);

} // namespace
} // namespace heddle::translators::contract
