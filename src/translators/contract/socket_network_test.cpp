#include "translators/contract/socket_network.hpp"
#include "translators/contract/contract.hpp"
#include "translators/contract/polls_both.hpp"

namespace heddle::translators::contract {
namespace {

class SocketsNetwork final : public Network {
 public:
  SocketsNetwork() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      networks_.push_back(std::make_unique<SocketNetwork>(rank, std::move(sockets_[rank])));
      sides_.push_back(std::make_unique<PollsBoth>(*networks_.back()));
    }
    sides_[0]->polls_too(*networks_[1]);
    sides_[1]->polls_too(*networks_[0]);
  }
  ir::Translator& at(std::uint32_t rank) override { return *sides_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{3}, .address = {}}; }
  Contact gone() override {
    const SocketNetwork third(2, std::move(sockets_[2]));
    const ir::Address address = third.address();
    return {.peer = ir::Peer{2}, .address = address};
  }
  [[nodiscard]] bool threads() const override { return false; }

 private:
  std::vector<std::vector<base::Descriptor>> sockets_ = connect_all(3);
  std::vector<std::unique_ptr<SocketNetwork>> networks_;
  std::vector<std::unique_ptr<PollsBoth>> sides_;
};

HEDDLE_TRANSLATOR_CONTRACT(Sockets, SocketsNetwork);

} // namespace
} // namespace heddle::translators::contract
