// Memory that the adapter reads and writes: what peers may reach, and what this process's own commands use.
//
// A key that peers name is the adapter's 32 bits below 32 drawn ones, which say from which address on the memory stands for the
// adapter: so a key is not to be guessed from another, though the adapter's own are.
#pragma once

#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/verbs/device.hpp"

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::translators::verbs {

// Where the adapter finds a place of a peer's.
[[nodiscard]] constexpr std::uint32_t adapter_key(ir::MemoryKey key) {
  return static_cast<std::uint32_t>(key);
}
[[nodiscard]] constexpr std::uint64_t adapter_address(const ir::RemotePlace& place) {
  return (static_cast<std::uint64_t>(place.key) >> 32U << 30U) + place.offset;
}
// No memory is so large: beyond, sums could wrap.
inline constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 47U;

class Memory {
 public:
  explicit Memory(const Device& device) : device_(device) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // As ir::Translator has them. A base, where one is given, instead of drawn bits in the key.
  Result<ir::ExposedMemory> allocate(std::size_t bytes, std::optional<std::uint64_t> base = std::nullopt);
  void deallocate(const ir::ExposedMemory& memory);
  Result<ir::RemotePlace> expose(std::span<std::byte> memory);
  void withdraw(const ir::RemotePlace& place);

  // Memory of this process that a record may be stored to; null where [place, place + bytes) is not wholly exposed.
  [[nodiscard]] std::byte* reach(const ir::RemotePlace& place, std::uint64_t bytes) const;

  // For the adapter's own reading and writing during one command: registered for it alone, unless it is part of what allocate() gave.
  // So nothing is remembered that the program might unmap meanwhile. Null, with errno: the limit is reached.
  struct Pinned {
    std::uint64_t address = 0; // as the adapter knows it
    std::uint32_t key = 0;
    ibv_mr* own = nullptr; // to be let go of
  };
  [[nodiscard]] std::optional<Pinned> pin(std::byte* from, std::uint64_t bytes, bool written);
  void unpin(ibv_mr* own);
  [[nodiscard]] Error refusal(const char* what, std::uint64_t bytes, int number) const;

  // Private memory that stays, in pieces of one size.
  class Pool {
   public:
    Pool(Memory& memory, std::size_t piece, std::size_t at_once) : memory_(memory), piece_(piece), at_once_(at_once) {}
    struct Piece {
      std::byte* data = nullptr; // null: none left
      std::uint32_t key = 0;
    };
    [[nodiscard]] Piece take();
    void give_back(const Piece& piece) { free_.push_back(piece); }
    [[nodiscard]] std::size_t piece_bytes() const { return piece_; }

   private:
    Memory& memory_;
    std::size_t piece_;
    std::size_t at_once_;
    std::vector<Piece> free_;
  };

 private:
  struct Area {
    ibv_mr* registered = nullptr; // null: withdrawn
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t first = 0; // offset of `data`
    std::size_t mapped = 0;  // bytes; 0: the caller's memory
  };
  Result<ir::RemotePlace> enter(std::span<std::byte> memory, std::uint64_t base, std::uint64_t first,
                                std::size_t mapped);
  std::uint64_t draw_base() { return keys_.draw() & 0xffff'ffffU; }

  const Device& device_;
  AreaKeys keys_ = AreaKeys::secret();
  std::unordered_map<std::uint64_t, Area> areas_; // by key
  struct Lasting {
    std::uintptr_t end = 0;
    std::uint64_t address = 0; // of its first byte, for the adapter
    std::uint32_t key = 0;
  };
  std::map<std::uintptr_t, Lasting> lasting_; // allocated, by where it begins
};

} // namespace heddle::translators::verbs
