#include "translators/contract/socket_network.hpp"
#include "translators/contract/contract.hpp"
#include "translators/decorator.hpp"

namespace heddle::translators::contract {
namespace {

// Commands are carried out when their target polls: here whenever either side does.
class Driven final : public Decorator {
 public:
  explicit Driven(ir::Translator& own) : Decorator(own) {}
  void drives(ir::Translator& other) { other_ = &other; }
  std::size_t poll(std::span<ir::Event> events) override {
    if (other_ != nullptr) other_->poll({});
    return Decorator::poll(events);
  }

 private:
  ir::Translator* other_ = nullptr;
};

class SocketsNetwork final : public Network {
 public:
  SocketsNetwork() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      networks_.push_back(std::make_unique<SocketNetwork>(rank, std::move(sockets_[rank])));
      sides_.push_back(std::make_unique<Driven>(*networks_.back()));
    }
    sides_[0]->drives(*networks_[1]);
    sides_[1]->drives(*networks_[0]);
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
  std::vector<std::unique_ptr<Driven>> sides_;
};

HEDDLE_TRANSLATOR_CONTRACT(Sockets, SocketsNetwork);

} // namespace
} // namespace heddle::translators::contract
