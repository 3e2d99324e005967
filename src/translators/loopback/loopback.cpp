#include "translators/loopback/loopback.hpp"

#include "translators/execute.hpp"

#include <limits>
#include <new>

namespace heddle::translators {

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::uint64_t kBootstrapKey = 1; // the first memory allocated

} // namespace

void LoopbackFabric::kill(ir::Peer peer) {
  members_[static_cast<std::uint32_t>(peer)] = nullptr;
  for (Loopback* member : members_)
    if (member != nullptr) member->events_.push({.kind = ir::EventKind::peer_failed, .peer = peer});
}

Loopback::Loopback(LoopbackFabric& fabric, ir::Peer self)
    : fabric_(fabric), self_(self), attached_(fabric.members_.size(), false) {
  capabilities_ = {.needs_connection = true,
                   .announces_writes = false,
                   .orders_puts = true,
                   .atomics = true,
                   .atomics_with_processor = true,
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
  for (const auto& [place, memory] : allocated_) ::operator delete(memory, kAlignment);
}

Result<ir::ExposedMemory> Loopback::allocate(std::size_t bytes) {
  // The library rounds sizes up to the alignment, and does not notice when that wraps.
  const bool possible = bytes <= std::numeric_limits<std::size_t>::max() / 2;
  auto* data = possible ? static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)) : nullptr;
  if (data == nullptr)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "no memory for " + std::to_string(bytes) + " bytes that peers can reach",
                                 .remedy = "lower ring_memory"});
  std::memset(data, 0, bytes);
  const ir::RemotePlace place = *expose({data, bytes});
  allocated_[static_cast<std::uint64_t>(place.key)] = data;
  return ir::ExposedMemory{.memory = {data, bytes}, .place = place};
}

void Loopback::deallocate(const ir::ExposedMemory& memory) {
  withdraw(memory.place);
  if (allocated_.erase(static_cast<std::uint64_t>(memory.place.key)) > 0)
    ::operator delete(memory.memory.data(), kAlignment);
}

Result<ir::RemotePlace> Loopback::expose(std::span<std::byte> memory) {
  const std::uint64_t key = next_key_++;
  exposed_[key] = memory;
  return ir::RemotePlace{.key = ir::MemoryKey{key}, .offset = 0};
}

void Loopback::withdraw(const ir::RemotePlace& place) {
  exposed_.erase(static_cast<std::uint64_t>(place.key));
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

std::byte* Loopback::reach(const ir::RemotePlace& place, std::uint64_t bytes) const {
  const auto found = exposed_.find(static_cast<std::uint64_t>(place.key));
  if (found == exposed_.end()) return nullptr;
  const std::span<std::byte> memory = found->second;
  if (place.offset > memory.size() || bytes > memory.size() - place.offset) return nullptr;
  return memory.data() + place.offset;
}

ir::Status Loopback::execute(const ir::Command& command, std::uint64_t& value) {
  const Loopback* target = fabric_.member(command.peer);
  const bool reachable = target != nullptr && attached_[static_cast<std::uint32_t>(command.peer)];
  if (!reachable || fabric_.member(self_) != this) return ir::Status::peer_lost;
  switch (command.operation) {
    case ir::Operation::put: {
      std::byte* to = target->reach(command.remote, put_extent(command));
      if (to == nullptr || !put_is_sound(command, to)) return ir::Status::refused;
      execute_put(command, to);
      return ir::Status::ok;
    }
    case ir::Operation::get: {
      const std::byte* from = target->reach(command.remote, command.bytes);
      if (from == nullptr) return ir::Status::refused;
      if (command.bytes > 0) std::memcpy(command.local, from, command.bytes);
      return ir::Status::ok;
    }
    case ir::Operation::compare_and_swap:
    case ir::Operation::fetch_and_add: {
      std::byte* at = target->reach(command.remote, kWord);
      if (at == nullptr || reinterpret_cast<std::uintptr_t>(at) % kWord != 0) return ir::Status::refused;
      value = execute_atomic(command, at);
      return ir::Status::ok;
    }
  }
  return ir::Status::failed;
}

std::size_t Loopback::submit(std::span<const ir::Command> commands) {
  for (const ir::Command& command : commands) {
    std::uint64_t value = 0;
    const ir::Status status = execute(command, value);
    if (ir::has(command.flags, ir::Flags::signalled))
      events_.push({.kind = ir::EventKind::completed,
                    .status = status,
                    .peer = command.peer,
                    .cookie = command.cookie,
                    .value = value});
  }
  return commands.size();
}

} // namespace heddle::translators
