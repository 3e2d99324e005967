#include "translators/memory_table.hpp"

#include <cstring>
#include <limits>
#include <new>

namespace heddle::translators {

namespace {

constexpr std::align_val_t kAlignment{64};

} // namespace

MemoryTable::~MemoryTable() {
  for (const auto& [key, memory] : allocated_) ::operator delete(memory, kAlignment);
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
  allocated_[key] = data;
  return ir::ExposedMemory{.memory = {data, bytes}, .place = expose(key, {data, bytes})};
}

void MemoryTable::deallocate(const ir::ExposedMemory& memory) {
  withdraw(memory.place.key);
  if (allocated_.erase(memory.place.key) > 0) ::operator delete(memory.memory.data(), kAlignment);
}

ir::RemotePlace MemoryTable::expose(ir::MemoryKey key, std::span<std::byte> memory) {
  exposed_[key] = memory;
  return {.key = key, .offset = 0};
}

std::byte* MemoryTable::reach(const ir::RemotePlace& place, std::uint64_t bytes) const {
  const auto found = exposed_.find(place.key);
  if (found == exposed_.end()) return nullptr;
  const std::span<std::byte> memory = found->second;
  if (place.offset > memory.size() || bytes > memory.size() - place.offset) return nullptr;
  return memory.data() + place.offset;
}

} // namespace heddle::translators
