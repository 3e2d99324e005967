// A translator whose own memory does not fail with the library's: a network has its own. What it gives away may be short.
#pragma once

#include "ir/translator.hpp"
#include "tests/memory/failing_new.hpp"

#include <memory>
#include <utility>

namespace heddle::tests {

class Sheltered final : public ir::Translator {
 public:
  explicit Sheltered(std::unique_ptr<ir::Translator> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return inner_->capabilities(); }
  [[nodiscard]] ir::Address address() const override { return inner_->address(); }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override {
    if (no_memory) return std::unexpected(Error{.code = ErrorCode::out_of_memory, .fact = "none left", .remedy = {}});
    return inner_->allocate(bytes);
  }
  void deallocate(const ir::ExposedMemory& memory) override {
    const Shelter shelter;
    inner_->deallocate(memory);
  }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override {
    const Shelter shelter;
    return inner_->expose(memory);
  }
  void withdraw(const ir::RemotePlace& place) override {
    const Shelter shelter;
    inner_->withdraw(place);
  }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    const Shelter shelter;
    return inner_->attach(peer, address);
  }
  void detach(ir::Peer peer) override {
    const Shelter shelter;
    inner_->detach(peer);
  }
  std::size_t submit(std::span<const ir::Command> commands) override {
    const Shelter shelter;
    return inner_->submit(commands);
  }
  std::size_t poll(std::span<ir::Event> events) override {
    const Shelter shelter;
    return inner_->poll(events);
  }

 private:
  std::unique_ptr<ir::Translator> inner_;
};

} // namespace heddle::tests
