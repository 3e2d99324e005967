#include "translators/loopback/loopback.hpp"

#include <limits>

namespace heddle::translators {

namespace {

constexpr std::uint64_t kBootstrapKey = 1; // the first memory allocated

} // namespace

void LoopbackFabric::kill(ir::Peer peer) {
  members_[static_cast<std::uint32_t>(peer)] = nullptr;
  for (Loopback* member : members_)
    if (member != nullptr) member->events_.push({.kind = ir::EventKind::peer_failed, .peer = peer});
}

Loopback::Loopback(LoopbackFabric& fabric, ir::Peer self)
    : fabric_(fabric), self_(self), attached_(fabric.members_.size(), false) {
  const bool announcing = fabric.manner_ == LoopbackFabric::Manner::announcing;
  capabilities_ = {.announces_writes = announcing,
                   .announces_reads = announcing,
                   .orders_puts = true,
                   .atomics = true,
                   .atomics_with_processor = true,
                   .atomics_on_any_memory = true,
                   .reads_any_memory = true,
                   .processor_copies = true,
                   .engines = 1,
                   .inline_bytes = std::numeric_limits<std::uint32_t>::max(),
                   .largest_transfer = std::numeric_limits<std::uint64_t>::max()};
  fabric_.members_[static_cast<std::uint32_t>(self_)] = this;
}

Loopback::~Loopback() {
  if (fabric_.members_[static_cast<std::uint32_t>(self_)] == this)
    fabric_.members_[static_cast<std::uint32_t>(self_)] = nullptr;
}

Result<ir::ExposedMemory> Loopback::allocate(std::size_t bytes) {
  return memory_.allocate(ir::MemoryKey{next_key_++}, bytes);
}

void Loopback::deallocate(const ir::ExposedMemory& memory) {
  memory_.deallocate(memory);
}

Result<ir::RemotePlace> Loopback::expose(std::span<std::byte> memory) {
  return memory_.expose(ir::MemoryKey{next_key_++}, memory);
}

ir::MemoryKey Loopback::draw_area_key() {
  constexpr std::uint64_t kArea = std::uint64_t{1} << 63U; // the others count from 1
  for (;;)
    if (const ir::MemoryKey key{area_keys_.draw() | kArea}; !memory_.holds(key)) return key;
}

Result<ir::ExposedMemory> Loopback::allocate_area(std::size_t bytes) {
  return memory_.allocate(draw_area_key(), bytes);
}

Result<ir::RemotePlace> Loopback::expose_area(std::span<std::byte> memory) {
  return memory_.expose(draw_area_key(), memory);
}

void Loopback::withdraw(const ir::RemotePlace& place) {
  memory_.withdraw(place.key);
}

Loopback* LoopbackFabric::member(ir::Peer peer) const {
  const auto rank = static_cast<std::uint32_t>(peer);
  return rank < members_.size() ? members_[rank] : nullptr;
}

Result<ir::RemotePlace> Loopback::attach(ir::Peer peer, const ir::Address&) {
  if (fabric_.member(peer) == nullptr)
    return std::unexpected(
        Error{.code = ErrorCode::unreachable,
              .fact = "peer " + std::to_string(static_cast<std::uint32_t>(peer)) + " is not on this loopback network",
              .peer = static_cast<std::int64_t>(peer)});
  attached_[static_cast<std::uint32_t>(peer)] = true;
  return ir::RemotePlace{.key = ir::MemoryKey{kBootstrapKey}, .offset = 0};
}

void Loopback::detach(ir::Peer peer) {
  if (static_cast<std::uint32_t>(peer) < attached_.size()) attached_[static_cast<std::uint32_t>(peer)] = false;
}

ir::Status Loopback::execute(const ir::Command& command, std::uint64_t& value) {
  const Loopback* target = fabric_.member(command.peer);
  const bool reachable = target != nullptr && attached_[static_cast<std::uint32_t>(command.peer)];
  if (!reachable || fabric_.member(self_) != this) return ir::Status::peer_lost;
  return target->memory_.execute(command, value);
}

void Loopback::announce(const ir::Command& command) {
  if (!capabilities_.announces_writes) return;
  fabric_.member(command.peer)
      ->events_.push(
          {.kind = command.operation == ir::Operation::put ? ir::EventKind::remote_written : ir::EventKind::remote_read,
           .peer = self_,
           .value = command.operand & 0xffU});
}

std::size_t Loopback::submit(std::span<const ir::Command> commands) {
  for (const ir::Command& command : commands) {
    if (!events_.make_room()) [[unlikely]] // back-pressure, until there is memory
      return static_cast<std::size_t>(&command - commands.data());
    std::uint64_t value = 0;
    const ir::Status status = execute(command, value);
    if (status == ir::Status::ok && ir::has(command.flags, ir::Flags::announced)) announce(command);
    events_.complete(command, status, value);
  }
  return commands.size();
}

} // namespace heddle::translators
