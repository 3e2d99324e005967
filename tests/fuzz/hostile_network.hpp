// A network without wires whose peers are the fuzzer's: what the engine asks for is kept until the fuzzer says how it ends, and
// whatever the engine offers can be written to. Every piece of memory is an allocation of its own, of exactly its size, and
// commands touch the memory that they name when they are carried out, so that the sanitizer sees each wrong access.
#pragma once

#include "base/fuzz_input.hpp"
#include "engine/bootstrap/area.hpp"
#include "ir/translator.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace heddle::fuzz {

class HostileNetwork final : public ir::Translator, public ir::DirectMemory, public ir::Groups {
 public:
  struct Shape {
    ir::Capabilities capabilities;
    bool direct = false; // peers' memory is plain memory
    bool copies = false; // puts to many at once
  };
  HostileNetwork(const Shape& shape, std::uint32_t peers);

  // --- what the engine sees ---
  [[nodiscard]] std::string_view name() const override { return "hostile"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return shape_.capabilities; }
  [[nodiscard]] ir::Facets facets() override {
    ir::Facets facets;
    if (shape_.direct) facets.direct_memory = this;
    if (shape_.copies) facets.groups = this;
    return facets;
  }
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  void deallocate(const ir::ExposedMemory& memory) override;
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override;
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address&) override;
  void detach(ir::Peer) override {}
  Result<ir::Peer> make_group(std::span<const ir::GroupMember>) override { return ir::Peer{ir::kFirstGroup}; }
  void drop_group(ir::Peer) override {}
  [[nodiscard]] ir::DirectRing direct_ring(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) override;
  [[nodiscard]] ir::DirectArea direct_area(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) override;
  void leave_area(ir::Peer, const ir::RemotePlace&) override {}
  void wake(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;

  // --- what the fuzzer does ---
  // The memory behind a key that the engine has allocated; empty where it has given it back.
  [[nodiscard]] std::span<std::byte> block(ir::MemoryKey key);
  // The ring that the engine has granted the peer; type refused: none yet.
  [[nodiscard]] const engine::RingGrant& granted(std::uint32_t peer) const { return granted_[peer]; }
  // The engine's own slot in the transaction with the peer.
  [[nodiscard]] std::uint32_t slot_for(std::uint32_t peer) const { return slots_[peer]; }
  // Words that the engine has written to peers: names of operations, keys, offsets.
  [[nodiscard]] std::uint64_t seen(std::size_t index) const { return seen_[index % seen_.size()]; }
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  // Nothing is under way, and the engine has heard of all that was.
  [[nodiscard]] bool quiet() const { return pending_.empty() && events_.empty(); }
  // Ends a command that is under way; what a get reads comes from the input.
  void complete(std::size_t index, ir::Status status, std::uint64_t value, Input& input);
  void push(const ir::Event& event) { events_.push_back(event); }
  void refuse(bool on) { refuses_ = on; }
  // A key that names memory of peers, where memory is direct.
  static constexpr ir::MemoryKey kPeerMemory{7};
  static constexpr std::uint64_t kPeerBytes = 16 << 10;

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  struct Block {
    std::unique_ptr<std::byte[], Free> data;
    std::size_t bytes = 0;
  };
  static Block make_block(std::size_t bytes);
  void look_at(const ir::Command& command);

  Shape shape_;
  std::map<std::uint64_t, Block> blocks_; // by key
  std::uint64_t last_key_ = 0;
  std::size_t allocated_ = 0;
  Block peer_memory_;
  std::vector<engine::RingGrant> granted_;
  std::vector<std::uint32_t> slots_;
  std::array<std::uint64_t, 32> seen_{};
  std::size_t next_seen_ = 0;
  std::deque<ir::Command> pending_;
  std::deque<ir::Event> events_;
  std::atomic<std::uint32_t> asleep_{0};
  std::atomic<std::uint64_t> live_{0};
  std::atomic<std::uint64_t> inside_{0};
  bool refuses_ = false;
  std::vector<std::byte> scratch_;
};

} // namespace heddle::fuzz
