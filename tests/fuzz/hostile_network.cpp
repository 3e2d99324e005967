#include "tests/fuzz/hostile_network.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::fuzz {

namespace {

constexpr std::size_t kMostMemory = 4 << 20; // of all allocations of an engine
constexpr std::uint64_t kPeerArea = 5;       // key of the peers' bootstrap memory

} // namespace

HostileNetwork::Block HostileNetwork::make_block(std::size_t bytes) {
  Block block{.data = decltype(Block::data)(new (std::align_val_t{64}) std::byte[std::max<std::size_t>(bytes, 1)]),
              .bytes = bytes};
  std::memset(block.data.get(), 0, bytes);
  return block;
}

HostileNetwork::HostileNetwork(const Shape& shape, std::uint32_t peers)
    : shape_(shape), last_key_(100), peer_memory_(make_block(kPeerBytes)), granted_(peers), slots_(peers) {}

Result<ir::ExposedMemory> HostileNetwork::allocate(std::size_t bytes) {
  if (bytes > kMostMemory - std::min(allocated_, kMostMemory))
    return std::unexpected(Error{.code = ErrorCode::out_of_memory, .fact = "the hostile network has no more memory"});
  allocated_ += bytes;
  const std::uint64_t key = ++last_key_;
  const Block& block = blocks_.emplace(key, make_block(bytes)).first->second;
  return ir::ExposedMemory{.memory = {block.data.get(), bytes}, .place = {.key = ir::MemoryKey{key}, .offset = 0}};
}

void HostileNetwork::deallocate(const ir::ExposedMemory& memory) {
  const auto found = blocks_.find(static_cast<std::uint64_t>(memory.place.key));
  demand(found != blocks_.end(), "memory is given back once");
  allocated_ -= found->second.bytes;
  blocks_.erase(found);
}

Result<ir::RemotePlace> HostileNetwork::expose(std::span<std::byte> memory) {
  return ir::RemotePlace{.key = ir::MemoryKey{3}, .offset = reinterpret_cast<std::uint64_t>(memory.data())};
}

Result<ir::RemotePlace> HostileNetwork::attach(ir::Peer, const ir::Address&) {
  return ir::RemotePlace{.key = ir::MemoryKey{kPeerArea}, .offset = 0};
}

// As shared memory does: what is outside the peer's memory is refused, and so is a word that is not aligned.
ir::DirectRing HostileNetwork::direct_ring(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) {
  if (place.key != kPeerMemory || place.offset % 8 != 0 || place.offset > kPeerBytes ||
      bytes > kPeerBytes - place.offset)
    return {};
  return {.memory = peer_memory_.data.get() + place.offset, .asleep = &asleep_, .peer = peer};
}

ir::DirectArea HostileNetwork::direct_area(ir::Peer, const ir::RemotePlace& place, std::uint64_t bytes) {
  if (place.key != kPeerMemory || place.offset % 8 != 0 || place.offset > kPeerBytes ||
      bytes > kPeerBytes - place.offset)
    return {};
  return {.memory = peer_memory_.data.get() + place.offset, .live = &live_, .key = 0, .inside = &inside_, .mark = 1};
}

std::span<std::byte> HostileNetwork::block(ir::MemoryKey key) {
  const auto found = blocks_.find(static_cast<std::uint64_t>(key));
  if (found == blocks_.end()) return {};
  return {found->second.data.get(), found->second.bytes};
}

std::size_t HostileNetwork::submit(std::span<const ir::Command> commands) {
  if (refuses_) return 0;
  for (const ir::Command& command : commands) {
    demand(command.head_bytes <= ir::kHeadBytes || command.operation != ir::Operation::put, "a head fits its command");
    if (command.operation == ir::Operation::put) look_at(command);
    if (ir::has(command.flags, ir::Flags::signalled)) pending_.push_back(command);
  }
  return commands.size();
}

void HostileNetwork::look_at(const ir::Command& command) {
  scratch_.assign(command.head.begin(), command.head.begin() + static_cast<std::ptrdiff_t>(command.head_bytes));
  if (command.bytes > 0) scratch_.insert(scratch_.end(), command.local, command.local + command.bytes);
  for (std::size_t at = 0; at + 8 <= std::min<std::size_t>(scratch_.size(), 80); at += 8)
    std::memcpy(&seen_[next_seen_++ % seen_.size()], scratch_.data() + at, 8);
  const auto peer = static_cast<std::uint32_t>(command.peer);
  constexpr std::size_t kAnswer = sizeof(std::uint64_t) + sizeof(engine::SlotBody);
  if (command.remote.key != ir::MemoryKey{kPeerArea} || scratch_.size() != kAnswer || peer >= granted_.size()) return;
  engine::SlotBody body;
  std::memcpy(static_cast<void*>(&body), scratch_.data() + sizeof(std::uint64_t), sizeof body);
  granted_[peer] = body.grant;
  slots_[peer] = body.slot;
}

std::size_t HostileNetwork::poll(std::span<ir::Event> events) {
  const std::size_t count = std::min(events.size(), events_.size());
  std::copy_n(events_.begin(), count, events.begin());
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void HostileNetwork::complete(std::size_t index, ir::Status status, std::uint64_t value, Input& input) {
  if (pending_.empty()) return;
  const auto at = pending_.begin() + static_cast<std::ptrdiff_t>(index % pending_.size());
  const ir::Command command = *at;
  pending_.erase(at);
  if (command.operation == ir::Operation::put && command.bytes > 0)
    scratch_.assign(command.local, command.local + command.bytes); // it may still be read until its event
  if (command.operation == ir::Operation::get && command.bytes > 0 && status == ir::Status::ok) {
    const auto content = input.bytes(std::min<std::uint64_t>(command.bytes, 64));
    std::memset(command.local, static_cast<int>(value), command.bytes);
    std::copy(content.begin(), content.end(), command.local);
  }
  const bool atomic =
      command.operation == ir::Operation::compare_and_swap || command.operation == ir::Operation::fetch_and_add;
  events_.push_back({.kind = ir::EventKind::completed,
                     .status = status,
                     .peer = command.peer,
                     .cookie = command.cookie,
                     .value = atomic ? value : 0});
}

} // namespace heddle::fuzz
