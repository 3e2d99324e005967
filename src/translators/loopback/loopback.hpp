// A network inside one process: for messages to oneself, and for tests with many peers and no transport.
// Commands are carried out at once, by the submitting side, on the target's memory; access is checked as a NIC would.
#pragma once

#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"

#include <vector>

namespace heddle::translators {

class Loopback;

// The peers of one such network. Outlives its translators. One thread.
class LoopbackFabric {
 public:
  // As a network whose endpoints are connected, or as one without connections that announces writes and reads.
  enum class Manner : std::uint8_t { connected, announcing };
  explicit LoopbackFabric(std::uint32_t size, Manner manner = Manner::connected)
      : members_(size, nullptr), manner_(manner) {}
  // Makes the peer unreachable, as a crash would; the others learn of it by an event.
  void kill(ir::Peer peer);

 private:
  friend class Loopback;
  [[nodiscard]] Loopback* member(ir::Peer peer) const;

  std::vector<Loopback*> members_; // null: not there, or killed
  Manner manner_;
};

class Loopback final : public ir::Translator, public ir::Areas {
 public:
  Loopback(LoopbackFabric& fabric, ir::Peer self);
  ~Loopback() override;

  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Facets facets() override { return {.areas = this}; }
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  void deallocate(const ir::ExposedMemory& memory) override;
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override;
  void withdraw(const ir::RemotePlace& place) override;
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) override;
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) override;
  [[nodiscard]] Result<void> close_area(const ir::RemotePlace& place) override {
    withdraw(place);
    return {};
  }
  void release_area(const ir::ExposedMemory& memory) override { deallocate(memory); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override { return events_.pop(events); }

 private:
  friend class LoopbackFabric;
  ir::Status execute(const ir::Command& command, std::uint64_t& value);
  void announce(const ir::Command& command);
  ir::MemoryKey draw_area_key();

  LoopbackFabric& fabric_;
  ir::Peer self_;
  ir::Capabilities capabilities_;
  std::vector<bool> attached_; // by rank
  MemoryTable memory_;
  std::uint64_t next_key_ = 1; // keys are not reused
  AreaKeys area_keys_ = AreaKeys::secret();
  EventList events_;
};

} // namespace heddle::translators
