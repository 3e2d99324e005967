// Memory of one process that its peers may reach, by key. For networks inside one process.
#pragma once

#include "ir/translator.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace heddle::translators {

class MemoryTable {
 public:
  MemoryTable() = default;
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // New memory under a key that is not in use: zeroed, aligned to 64 bytes.
  Result<ir::ExposedMemory> allocate(ir::MemoryKey key, std::size_t bytes);
  void deallocate(const ir::ExposedMemory& memory);
  ir::RemotePlace expose(ir::MemoryKey key, std::span<std::byte> memory);
  void withdraw(ir::MemoryKey key) { exposed_.erase(key); }
  [[nodiscard]] bool holds(ir::MemoryKey key) const { return exposed_.contains(key) || allocated_.contains(key); }
  // The memory behind a place, or null when [place, place + bytes) is not wholly exposed.
  [[nodiscard]] std::byte* reach(const ir::RemotePlace& place, std::uint64_t bytes) const;

 private:
  std::map<ir::MemoryKey, std::span<std::byte>> exposed_;
  std::map<ir::MemoryKey, std::byte*> allocated_;
};

} // namespace heddle::translators
