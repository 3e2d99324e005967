// A translator over a translator: passes every call on, and offers no window, so that every put comes by as a command. What changes some of them derives from it (trace, replay, faulty).
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
  [[nodiscard]] ir::Address address() const override { return inner_.address(); }
  [[nodiscard]] ir::Location location() const override { return inner_.location(); }
  void choose_path(ir::Peer peer, std::uint32_t offset) override { inner_.choose_path(peer, offset); }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(const ir::ExposedMemory& memory) override { inner_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return inner_.expose(memory); }
  void withdraw(const ir::RemotePlace& place) override { inner_.withdraw(place); }
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) override { return inner_.allocate_area(bytes); }
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) override { return inner_.expose_area(memory); }
  void close_area(const ir::RemotePlace& place) override { inner_.close_area(place); }
  void release_area(const ir::ExposedMemory& memory) override { inner_.release_area(memory); }
  void leave_area(ir::Peer peer, const ir::RemotePlace& place) override { inner_.leave_area(peer, place); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    return inner_.attach(peer, address);
  }
  void detach(ir::Peer peer) override { inner_.detach(peer); }
  Result<ir::Endpoint> prepare_endpoint(ir::Peer peer) override { return inner_.prepare_endpoint(peer); }
  Result<void> connect_endpoint(ir::Peer peer, const ir::Endpoint& endpoint) override {
    return inner_.connect_endpoint(peer, endpoint);
  }
  Result<ir::Peer> make_group(std::span<const ir::GroupMember> members) override { return inner_.make_group(members); }
  void drop_group(ir::Peer group) override { inner_.drop_group(group); }
  [[nodiscard]] ir::Resources resources() const override { return inner_.resources(); }
  [[nodiscard]] std::uint32_t paths_to(ir::Peer peer) const override { return inner_.paths_to(peer); }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer peer, std::uint32_t path) const override {
    return inner_.route(peer, path);
  }
  std::size_t submit(std::span<const ir::Command> commands) override { return inner_.submit(commands); }
  std::size_t poll(std::span<ir::Event> events) override { return inner_.poll(events); }
  void announce_sleep() override { inner_.announce_sleep(); }
  void cancel_sleep() override { inner_.cancel_sleep(); }
  void sleep(std::chrono::nanoseconds limit) override { inner_.sleep(limit); }

 protected:
  [[nodiscard]] ir::Translator& inner() { return inner_; }
  [[nodiscard]] const ir::Translator& inner() const { return inner_; }

 private:
  ir::Translator& inner_;
};

} // namespace heddle::translators
