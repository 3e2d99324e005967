// Memory of one process that its peers may reach, by key. For networks inside one process.
#pragma once

#include "ir/translator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

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
  // Out of reach from now on. Memory made by allocate is still to be given back.
  void withdraw(ir::MemoryKey key);
  [[nodiscard]] bool holds(ir::MemoryKey key) const { return areas_.contains(key); }
  // The memory behind a place, or null when [place, place + bytes) is not wholly exposed.
  [[nodiscard]] std::byte* reach(const ir::RemotePlace& place, std::uint64_t bytes) const;

 private:
  struct Area {
    std::span<std::byte> memory;
    bool owned = false;     // made by allocate
    bool withdrawn = false; // while it is still owned
  };
  std::unordered_map<ir::MemoryKey, Area> areas_;
};

} // namespace heddle::translators
