// A translator over a translator: passes every call on, and offers no direct memory, so that every put comes by as a command. What changes some of them derives from it (trace, replay, faulty).
#pragma once

#include "ir/translator.hpp"

namespace heddle::translators {

class Decorator : public ir::Translator {
 public:
  // The inner translator outlives this one.
  explicit Decorator(ir::Translator& inner) : inner_(inner) {}

  [[nodiscard]] std::string_view name() const override { return inner_.name(); }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return inner_.capabilities(); }
  [[nodiscard]] std::string remark() const override { return inner_.remark(); }
  [[nodiscard]] ir::Facets facets() override {
    ir::Facets facets = inner_.facets();
    facets.direct_memory = nullptr;
    return facets;
  }
  [[nodiscard]] ir::Address address() const override { return inner_.address(); }
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override { return inner_.reaches(address); }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(const ir::ExposedMemory& memory) override { inner_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return inner_.expose(memory); }
  void withdraw(const ir::RemotePlace& place) override { inner_.withdraw(place); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    return inner_.attach(peer, address);
  }
  void detach(ir::Peer peer) override { inner_.detach(peer); }
  std::size_t submit(std::span<const ir::Command> commands) override { return inner_.submit(commands); }
  std::size_t poll(std::span<ir::Event> events) override { return inner_.poll(events); }
  [[nodiscard]] bool drained() const override { return inner_.drained(); }
  [[nodiscard]] bool will_tell_end(ir::Peer peer) const override { return inner_.will_tell_end(peer); }

 protected:
  [[nodiscard]] ir::Translator& inner() { return inner_; }
  [[nodiscard]] const ir::Translator& inner() const { return inner_; }

 private:
  ir::Translator& inner_;
};

} // namespace heddle::translators
