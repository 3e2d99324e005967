// Memory of this process that the network may touch, registered with every engine under one reserved tag. What is allocated is cut from large
// pieces (arenas), since tags are few; areas and memory of the program have tags of their own, which come round again as late as possible.
#pragma once

#include "base/free_space.hpp"
#include "ir/facets.hpp"
#include "translators/utofu/library.hpp"
#include "translators/utofu/place.hpp"

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace heddle::translators::utofu {

// One network interface and its queues.
struct Vcq {
  utofu_vcq_hdl_t handle = 0;
  utofu_vcq_id_t id = 0;
};

class Memory {
 public:
  Memory(const Library& api, const std::vector<Vcq>& vcqs, std::uint64_t salt) : api_(api), vcqs_(vcqs), salt_(salt) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The first arena begins with memory for the translator itself, under the tag that is the same at every process.
  static constexpr std::uint32_t kFirstTag = 0;

  Result<ir::ExposedMemory> allocate(std::size_t bytes);
  void deallocate(const ir::ExposedMemory& memory);
  // Under a tag of its own, so that it can be closed.
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes);
  void release_area(const ir::ExposedMemory& memory);
  Result<ir::RemotePlace> expose(std::span<std::byte> memory, bool as_area);
  void withdraw(const ir::RemotePlace& place);
  // Before the engines go.
  void withdraw_all();

  // The steering address at that engine of memory in an arena; 0: it is in none.
  [[nodiscard]] utofu_stadd_t find(const std::byte* memory, std::size_t bytes, std::size_t engine) const;

 private:
  // Tags [begin, end), each used again only after all others.
  struct Tags {
    std::uint32_t begin, end, next;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  using Owned = std::unique_ptr<std::byte[], Free>;
  struct Arena {
    Owned memory;
    std::size_t size = 0;
    std::uint32_t tag = 0;
    base::FreeSpace space;
  };
  struct Area {
    Owned memory;
    ir::MemoryKey key{};
  };
  // Aligned to what the network calls a page, not zeroed; null: there is none.
  static Owned fresh(std::size_t bytes);
  // Until the process ends: the network may touch it yet.
  static void keep(Owned memory);
  Result<ir::RemotePlace> enter(Tags& tags, std::span<std::byte> memory);
  void leave(std::uint32_t tag);
  Result<void> add_arena(std::size_t bytes);
  [[nodiscard]] std::size_t arena_of(const std::byte* memory, std::size_t bytes) const; // their number: it is in none

  const Library& api_;
  const std::vector<Vcq>& vcqs_;
  const std::uint64_t salt_;
  std::array<std::vector<utofu_stadd_t>, 256> registered_; // by tag: where at each engine; empty: it is free
  std::array<ir::MemoryKey, 256> keys_{};                  // by tag: under which it was given out last
  std::vector<Arena> arenas_;
  std::map<const std::byte*, Area> areas_; // that were allocated here, and not released
  Tags of_arenas_{.begin = kFirstTag, .end = 64, .next = kFirstTag};
  Tags of_areas_{.begin = 64, .end = 160, .next = 64};
  Tags of_messages_{.begin = 160, .end = 256, .next = 160};
};

} // namespace heddle::translators::utofu
