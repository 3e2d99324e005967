// The translator of one simulated peer. What the networks have in common; each adds how it names memory and peers, and
// which way its packets take.
#pragma once

#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"
#include "translators/simulated/interconnect.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace heddle::translators::simulated {

class Simulated : public ir::Translator, public ir::Areas, public ir::Groups, public ir::Paths {
 public:
  // Commands that an interface holds for one process.
  static constexpr std::uint32_t kQueueDepth = 1024;

  ~Simulated() override;

  [[nodiscard]] const ir::Capabilities& capabilities() const final { return capabilities_; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) final;
  void deallocate(const ir::ExposedMemory& memory) final { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) final;
  void withdraw(const ir::RemotePlace& place) final { memory_.withdraw(place.key); }
  [[nodiscard]] ir::Facets facets() override { return {.areas = this, .paths = this}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const final { return {}; }
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) final;
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) final;
  [[nodiscard]] Result<void> close_area(const ir::RemotePlace& place) final {
    withdraw(place);
    return {};
  }
  void release_area(const ir::ExposedMemory& memory) final { deallocate(memory); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) final;
  void detach(ir::Peer peer) final;
  Result<ir::Peer> make_group(std::span<const ir::GroupMember> members) final;
  void drop_group(ir::Peer group) final;
  // As the fabric has them; receivers' engines and paths are what each network makes of them.
  [[nodiscard]] ir::Resources resources() const override;
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 1; }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer peer, std::uint32_t path) const final;
  [[nodiscard]] std::uint64_t location() const override { return interconnect_.node_of(self_) + 1; }
  void choose_path(ir::Peer, std::uint32_t) override {}
  std::size_t submit(std::span<const ir::Command> commands) final;
  std::size_t poll(std::span<ir::Event> events) final { return events_.pop(events); }

  [[nodiscard]] bool drained() const final { return under_way_ == 0; }

  // Peers that have written to memory here since the last call; one may be named twice. Where the network announces
  // writes, none: their events say so. Knowledge of the simulation, not of a network: it spares looking at all rings.
  void take_writers(std::vector<std::uint32_t>& into) {
    into.clear();
    std::swap(into, writers_);
  }

 protected:
  Simulated(Interconnect& interconnect, ir::Peer self, const ir::Capabilities& capabilities);

  // A key for each number below 2^32; 1 is the bootstrap memory's. They count for rings, and are drawn for areas.
  [[nodiscard]] virtual ir::MemoryKey key_for(std::uint64_t serial) const = 0;
  // Learns what a peer's address says; the key of its bootstrap memory. Error: it makes no sense.
  virtual Result<ir::MemoryKey> learn(ir::Peer peer, const ir::Address& address) = 0;
  // The way to a peer of a command of this process, or of the answer to one of the peer's.
  [[nodiscard]] virtual Steering way_to(ir::Peer peer, const ir::Command& command, bool answer) const = 0;
  // Where a packet on that path heads for.
  [[nodiscard]] virtual sim::Heading heading_to(ir::Peer peer, std::uint32_t path) const;
  [[nodiscard]] std::vector<ir::PathLink> links_from(ir::Peer peer, const sim::Heading& heading) const;
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
  [[nodiscard]] bool is_bootstrap(ir::MemoryKey key) const { return key == key_for(1); }
  // The members of a group of this process; null for a number that is none.
  [[nodiscard]] const std::vector<ir::GroupMember>* group(ir::Peer peer) const;
  ir::MemoryKey draw_area_key();
  // Larger than a command of this network can be.
  [[nodiscard]] bool oversized(const ir::Command& command) const;
  // Ends a command that does not get onto the network.
  void refuse(const ir::Command& command, ir::Status status);
  void report(const ir::Event& event);
  void announce(ir::Peer from, const ir::Command& command);
  void note_writer(ir::Peer from) {
    const auto rank = static_cast<std::uint32_t>(from);
    if (capabilities_.announces_writes || (!writers_.empty() && writers_.back() == rank)) return;
    writers_.push_back(rank);
  }

  Interconnect& interconnect_;
  ir::Peer self_;
  ir::Capabilities capabilities_;
  MemoryTable memory_;
  std::uint64_t serial_ = 0;
  AreaKeys area_keys_;
  std::vector<bool> attached_;                       // by rank
  std::vector<std::vector<ir::GroupMember>> groups_; // empty: dropped
  std::uint32_t under_way_ = 0;
  // The processor at its engines' queues.
  std::uint16_t last_engine_ = 0;
  std::uint32_t to_hand_over_ = 0;     // commands whose turn has not come
  sim::Picoseconds handed_over_{0};    // when the last one is
  std::vector<std::uint32_t> writers_; // since the last take_writers
  EventList events_;
};

} // namespace heddle::translators::simulated
