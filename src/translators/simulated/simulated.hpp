// The translator of one simulated peer. What the networks have in common; each adds how it names memory and peers, and
// which way its packets take.
#pragma once

#include "ir/translator.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"
#include "translators/simulated/interconnect.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace heddle::translators::simulated {

class Simulated : public ir::Translator {
 public:
  // Commands that an interface holds for one process.
  static constexpr std::uint32_t kQueueDepth = 1024;

  ~Simulated() override;

  [[nodiscard]] const ir::Capabilities& capabilities() const final { return capabilities_; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) final;
  void deallocate(const ir::ExposedMemory& memory) final { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) final;
  void withdraw(const ir::RemotePlace& place) final { memory_.withdraw(place.key); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) final;
  void detach(ir::Peer peer) final;
  // As the fabric has them; receivers' engines and paths are what each network makes of them.
  [[nodiscard]] ir::Resources resources() const override;
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer peer, std::uint32_t path) const final;
  std::size_t submit(std::span<const ir::Command> commands) final;
  std::size_t poll(std::span<ir::Event> events) final { return events_.pop(events); }

 protected:
  Simulated(Interconnect& interconnect, ir::Peer self, const ir::Capabilities& capabilities);

  // A key that this process has never given; `serial` counts from 1, which is the bootstrap memory's.
  [[nodiscard]] virtual ir::MemoryKey key_for(std::uint64_t serial) const = 0;
  // Learns what a peer's address says; the key of its bootstrap memory. Error: it makes no sense.
  virtual Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) = 0;
  // The way to a peer of a command of this process, or of the answer to one of the peer's.
  [[nodiscard]] virtual Way way_to(ir::Peer peer, const ir::Command& command, bool answer) const = 0;
  // Where a packet on that path heads for.
  [[nodiscard]] virtual sim::Heading heading_to(ir::Peer peer, std::uint32_t path) const;
  // Whether the peer's commands may reach that memory here.
  [[nodiscard]] virtual bool admits(ir::Peer, ir::MemoryKey) const { return true; }

  [[nodiscard]] Interconnect& interconnect() const { return interconnect_; }
  [[nodiscard]] ir::Peer self() const { return self_; }

  // Addresses and endpoints as structs.
  template <typename Bytes, typename Content>
  static Bytes pack(const Content& content) {
    static_assert(std::is_trivially_copyable_v<Content> && sizeof content <= sizeof(Bytes));
    Bytes bytes{};
    std::memcpy(bytes.data(), &content, sizeof content);
    return bytes;
  }
  template <typename Content, typename Bytes>
  static Content unpack(const Bytes& bytes) {
    static_assert(std::is_trivially_copyable_v<Content> && sizeof(Content) <= sizeof(Bytes));
    Content content;
    std::memcpy(&content, bytes.data(), sizeof content);
    return content;
  }

 private:
  friend class Interconnect;
  [[nodiscard]] std::byte* reach(ir::Peer from, const ir::RemotePlace& place, std::uint64_t bytes) const {
    return admits(from, place.key) ? memory_.reach(place, bytes) : nullptr;
  }
  // Larger than a command of this network can be.
  [[nodiscard]] bool oversized(const ir::Command& command) const;
  // Ends a command that does not get onto the network.
  void refuse(const ir::Command& command, ir::Status status);
  void report(const ir::Event& event);
  void announce(ir::Peer from, const ir::Command& command);

  Interconnect& interconnect_;
  ir::Peer self_;
  ir::Capabilities capabilities_;
  MemoryTable memory_;
  std::uint64_t serial_ = 0;
  std::vector<bool> attached_; // by rank
  std::uint32_t under_way_ = 0;
  // The processor at its engines' queues.
  std::uint16_t last_engine_ = 0;
  std::uint32_t to_hand_over_ = 0;  // commands whose turn has not come
  sim::Picoseconds handed_over_{0}; // when the last one is
  EventList events_;
};

} // namespace heddle::translators::simulated
