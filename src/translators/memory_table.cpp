#include "translators/memory_table.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <string>

namespace heddle::translators {

namespace {

constexpr std::align_val_t kAlignment{64};

} // namespace

MemoryTable::~MemoryTable() {
  for (const auto& [key, area] : areas_)
    if (area.owned) ::operator delete(area.memory.data(), kAlignment);
}

Result<ir::ExposedMemory> MemoryTable::allocate(ir::MemoryKey key, std::size_t bytes) {
  // The library rounds sizes up to the alignment, and does not notice when that wraps.
  const bool possible = bytes <= std::numeric_limits<std::size_t>::max() / 2;
  auto* data = possible ? static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)) : nullptr;
  if (data == nullptr)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "no memory for " + std::to_string(bytes) + " bytes that peers can reach",
                                 .remedy = "lower ring_memory"});
  std::memset(data, 0, bytes);
  areas_[key] = {.memory = {data, bytes}, .owned = true};
  return ir::ExposedMemory{.memory = {data, bytes}, .place = {.key = key, .offset = 0}};
}

void MemoryTable::deallocate(const ir::ExposedMemory& memory) {
  const auto found = areas_.find(memory.place.key);
  if (found == areas_.end()) return;
  if (found->second.owned) ::operator delete(found->second.memory.data(), kAlignment);
  areas_.erase(found);
}

ir::RemotePlace MemoryTable::expose(ir::MemoryKey key, std::span<std::byte> memory) {
  areas_[key] = {.memory = memory};
  return {.key = key, .offset = 0};
}

void MemoryTable::withdraw(ir::MemoryKey key) {
  const auto found = areas_.find(key);
  if (found == areas_.end()) return;
  if (found->second.owned)
    found->second.withdrawn = true;
  else
    areas_.erase(found);
}

std::byte* MemoryTable::reach(const ir::RemotePlace& place, std::uint64_t bytes) const {
  const auto found = areas_.find(place.key);
  if (found == areas_.end() || found->second.withdrawn) return nullptr;
  const std::span<std::byte> memory = found->second.memory;
  if (place.offset > memory.size() || bytes > memory.size() - place.offset) return nullptr;
  return memory.data() + place.offset;
}

} // namespace heddle::translators
