// Memory of one process that its peers may reach, by key. For networks inside one process.
#pragma once

#include "ir/translator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::translators {

class MemoryTable {
 public:
  MemoryTable();
  ~MemoryTable();
  MemoryTable(const MemoryTable&) = delete;
  MemoryTable& operator=(const MemoryTable&) = delete;

  // New memory under a key that is not in use: zeroed, aligned to 64 bytes.
  Result<ir::ExposedMemory> allocate(ir::MemoryKey key, std::size_t bytes);
  void deallocate(const ir::ExposedMemory& memory);
  ir::RemotePlace expose(ir::MemoryKey key, std::span<std::byte> memory);
  // Out of reach from now on. Memory made by allocate is still to be given back.
  void withdraw(ir::MemoryKey key);
  [[nodiscard]] bool holds(ir::MemoryKey key) const { return find(key).state != State::empty; }
  // The memory behind a place, or null when [place, place + bytes) is not wholly exposed.
  [[nodiscard]] std::byte* reach(const ir::RemotePlace& place, std::uint64_t bytes) const;
  // Carries a peer's command out, by this processor; `value` is an atomic's old one.
  ir::Status execute(const ir::Command& command, std::uint64_t& value) const;

 private:
  enum class State : std::uint8_t {
    empty,
    exposed,
    owned,    // made by allocate
    withdrawn // while it is still owned
  };
  struct Area {
    ir::MemoryKey key{};
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    State state = State::empty;
    bool mapped = false; // by itself, not a part of the heap
  };
  static_assert(sizeof(Area) == 32); // two to a cache line

  [[nodiscard]] std::size_t home(ir::MemoryKey key) const;
  [[nodiscard]] std::size_t after(std::size_t at) const { return (at + 1) & (areas_.size() - 1); }
  // Where the key stands, or the empty place where it would.
  [[nodiscard]] std::size_t place_of(ir::MemoryKey key) const;
  [[nodiscard]] const Area& find(ir::MemoryKey key) const { return areas_[place_of(key)]; }
  // Zeroed memory for an area of that many bytes; null data: there is none.
  static Area zeroed(std::size_t bytes);
  static void give_back(const Area& area);
  void insert(const Area& area);
  void erase(std::size_t at);

  // Open addressing, a power of two long, each area as near behind its home as there was room: a job of a thousand processes
  // has millions of areas, and a look at one costs one cache line.
  std::vector<Area> areas_;
  std::size_t used_ = 0;
};

} // namespace heddle::translators
