#include "translators/utofu/memory.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <sys/mman.h>

namespace heddle::translators::utofu {

namespace {

constexpr std::size_t kArena = std::size_t{8} << 20U;
constexpr std::size_t kAlignment = 256; // of memory under a reserved tag
constexpr std::size_t kPage = 64 << 10; // largest that the network's addresses keep the lower bits of
constexpr std::size_t kMost = kLargestRange - kPage;

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (std::max<std::size_t>(bytes, 1) + to - 1) / to * to;
}

Error none_left(const std::string& fact) {
  return {.code = ErrorCode::out_of_memory,
          .fact = fact,
          .remedy = "lower ring_memory, or close areas that are not needed"};
}
Error too_much(std::size_t bytes) {
  return none_left("no memory for " + std::to_string(bytes) + " bytes that peers can reach");
}

// Zeroed, and begins a page of the network's. Empty: there is none.
std::span<std::byte> map(std::size_t bytes) {
  void* raw = ::mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return {};
  const auto from = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t skipped = rounded(from, kPage) - from;
  if (skipped > 0) ::munmap(raw, skipped);
  if (skipped < kPage) ::munmap(static_cast<std::byte*>(raw) + skipped + bytes, kPage - skipped);
  return {static_cast<std::byte*>(raw) + skipped, bytes};
}

} // namespace

Memory::~Memory() {
  const auto taken = [](const std::vector<utofu_stadd_t>& tag) { return !tag.empty(); };
  if (std::ranges::any_of(registered_, taken)) return; // the network may touch it yet
  for (const Arena& arena : arenas_) ::munmap(arena.memory.data(), arena.memory.size());
  for (const auto& [memory, bytes] : areas_) ::munmap(const_cast<std::byte*>(memory), bytes);
}

void Memory::withdraw_all() {
  for (std::uint32_t tag = 0; tag < registered_.size(); ++tag) leave(tag);
}

Result<Range> Memory::enter(Tags& tags, std::span<std::byte> memory) {
  // From an aligned address before it: no more than the range itself is granted.
  const std::size_t ahead = reinterpret_cast<std::uintptr_t>(memory.data()) % kAlignment;
  for (std::uint32_t tried = tags.begin; tried < tags.end; ++tried) {
    const std::uint32_t tag = tags.next;
    tags.next = tag + 1 < tags.end ? tag + 1 : tags.begin;
    if (!registered_[tag].empty()) continue;
    Range range{.tag = tag, .size = memory.size()};
    for (const Vcq& vcq : vcqs_) {
      utofu_stadd_t base = 0;
      utofu_stadd_t stadd = 0;
      int code = api_.query_stadd(vcq.id, tag, &base);
      if (code == UTOFU_SUCCESS)
        code = api_.reg_mem_with_stag(vcq.handle, memory.data() - ahead, rounded(memory.size() + ahead, kAlignment),
                                      tag, 0, &stadd);
      if (code == UTOFU_SUCCESS) registered_[tag].push_back(stadd);
      // Whether a tag's address keeps the lower bits of the memory's is found out here: no public source tells.
      const std::uint64_t first = stadd - base + ahead;
      if (code == UTOFU_SUCCESS && first <= kLargestFirst && (vcq.id == vcqs_[0].id || first == range.first)) {
        range.first = first;
        continue;
      }
      leave(tag);
      return std::unexpected(none_left("uTofu does not register memory of " + std::to_string(memory.size()) +
                                       " bytes: code " + std::to_string(code)));
    }
    keys_[tag] = place::pack(range, salt_).key;
    return range;
  }
  return std::unexpected(none_left("uTofu has no tag left for memory that peers can reach"));
}

void Memory::leave(std::uint32_t tag) {
  for (std::size_t engine = 0; engine < registered_[tag].size(); ++engine)
    api_.dereg_mem(vcqs_[engine].handle, registered_[tag][engine], 0);
  registered_[tag].clear();
}

Result<Memory::Arena*> Memory::arena_for(std::size_t bytes) {
  for (Arena& arena : arenas_)
    if (std::ranges::any_of(arena.free,
                            [&](const auto& hole) { return hole.second >= bytes && hole.first <= kLargestStep; }))
      return &arena;
  const std::span<std::byte> memory = map(rounded(bytes, kArena));
  if (memory.empty()) return std::unexpected(too_much(bytes));
  const auto range = enter(of_arenas_, memory);
  if (!range) {
    ::munmap(memory.data(), memory.size());
    return std::unexpected(range.error());
  }
  arenas_.push_back({.memory = memory, .range = *range, .free = {{0, memory.size()}}});
  return &arenas_.back();
}

Result<ir::ExposedMemory> Memory::allocate(std::size_t bytes) {
  if (bytes > kMost) return std::unexpected(too_much(bytes));
  const std::size_t size = rounded(bytes, kAlignment);
  const auto found = arena_for(size);
  if (!found) return std::unexpected(found.error());
  Arena& arena = **found;
  const auto hole = std::ranges::find_if(arena.free, [&](const auto& free) { return free.second >= size; });
  const auto [at, left] = *hole;
  arena.free.erase(hole);
  if (left > size) arena.free.emplace(at + size, left - size);
  std::byte* const memory = arena.memory.data() + at;
  std::memset(memory, 0, bytes);
  const Range range{.tag = arena.range.tag, .first = arena.range.first + at, .size = bytes};
  return ir::ExposedMemory{.memory = {memory, bytes}, .place = place::pack(range, salt_)};
}

void Memory::deallocate(const ir::ExposedMemory& memory) {
  for (Arena& arena : arenas_) {
    if (memory.memory.data() < arena.memory.data() || memory.memory.data() >= arena.memory.data() + arena.memory.size())
      continue;
    auto at = static_cast<std::size_t>(memory.memory.data() - arena.memory.data());
    std::size_t size = rounded(memory.memory.size(), kAlignment);
    auto next = arena.free.lower_bound(at);
    if (next != arena.free.end() && next->first == at + size) {
      size += next->second;
      next = arena.free.erase(next);
    }
    if (next != arena.free.begin() && std::prev(next)->first + std::prev(next)->second == at)
      std::prev(next)->second += size;
    else
      arena.free.emplace(at, size);
  }
}

Result<ir::ExposedMemory> Memory::allocate_area(std::size_t bytes) {
  if (bytes > kMost) return std::unexpected(too_much(bytes));
  const std::span<std::byte> memory = map(rounded(bytes, kAlignment));
  if (memory.empty()) return std::unexpected(too_much(bytes));
  const auto range = enter(of_areas_, memory.first(bytes));
  if (!range) {
    ::munmap(memory.data(), memory.size());
    return std::unexpected(range.error());
  }
  areas_[memory.data()] = memory.size();
  return ir::ExposedMemory{.memory = memory.first(bytes), .place = place::pack(*range, salt_)};
}

void Memory::release_area(const ir::ExposedMemory& memory) {
  const auto owned = areas_.find(memory.memory.data());
  if (owned == areas_.end()) return;
  withdraw(memory.place);
  ::munmap(memory.memory.data(), owned->second);
  areas_.erase(owned);
}

Result<ir::RemotePlace> Memory::expose(std::span<std::byte> memory, bool as_area) {
  static std::byte nothing{}; // an empty range of an empty vector has a place, too
  if (memory.size() > kMost) return std::unexpected(too_much(memory.size()));
  const auto range =
      enter(as_area ? of_areas_ : of_messages_, {memory.data() != nullptr ? memory.data() : &nothing, memory.size()});
  if (!range) return std::unexpected(range.error());
  return place::pack(*range, salt_);
}

void Memory::withdraw(const ir::RemotePlace& place) {
  const std::uint32_t tag = place::range_of(place.key).tag;
  // A tag that has been given to other memory since is that memory's.
  if (tag >= of_areas_.begin && keys_[tag] == place.key) leave(tag);
}

utofu_stadd_t Memory::find(const std::byte* memory, std::size_t bytes, std::size_t engine) const {
  for (const Arena& arena : arenas_) {
    const std::byte* const from = arena.memory.data();
    if (memory >= from && memory + bytes <= from + arena.memory.size())
      return registered_[arena.range.tag][engine] + static_cast<std::uint64_t>(memory - from);
  }
  return 0;
}

} // namespace heddle::translators::utofu
