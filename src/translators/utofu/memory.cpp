#include "translators/utofu/memory.hpp"

#include "base/free_memory.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

namespace heddle::translators::utofu {

namespace {

constexpr std::size_t kArena = std::size_t{8} << 20U;
constexpr std::size_t kAlignment = 256; // of memory under a reserved tag
constexpr std::size_t kPage = 64 << 10; // largest that the network's addresses keep the lower bits of
constexpr std::size_t kMost = kLargestRange - kArena;

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (std::max<std::size_t>(bytes, 1) + to - 1) / to * to;
}

std::unexpected<Error> none_left(const std::string& fact) {
  return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                               .fact = fact,
                               .remedy = "lower ring_memory, or close areas that are not needed"});
}
std::unexpected<Error> too_much(std::size_t bytes) {
  return none_left("no memory for " + std::to_string(bytes) + " bytes that peers can reach");
}

} // namespace

Memory::~Memory() {
  for (Arena& arena : arenas_)
    if (!registered_[arena.tag].empty()) keep(std::move(arena.memory));
  for (auto& [start, area] : areas_) {
    const std::uint32_t tag = place::range_of(area.key).tag;
    if (!registered_[tag].empty() && keys_[tag] == area.key) keep(std::move(area.memory));
  }
}

void Memory::keep(Owned memory) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<Owned>; // where leak checkers find it
  const std::lock_guard lock(mutex);
  try {
    kept.push_back(nullptr);
    kept.back() = std::move(memory);
  } catch (const std::bad_alloc&) {
    (void)memory.release();
  }
}

Memory::Owned Memory::fresh(std::size_t bytes) {
  if (bytes > kMost || !base::memory_suffices(bytes)) return nullptr;
  return Owned(static_cast<std::byte*>(std::aligned_alloc(kPage, rounded(bytes, kPage))));
}

Result<ir::RemotePlace> Memory::enter(Tags& tags, std::span<std::byte> memory) {
  // From an aligned address before it: no more than the range itself is granted.
  const std::size_t ahead = reinterpret_cast<std::uintptr_t>(memory.data()) % kAlignment;
  std::uint32_t tag = tags.next;
  for (std::uint32_t tried = tags.begin; !registered_[tag].empty(); ++tried) {
    if (tried == tags.end) return none_left("uTofu has no tag left for memory that peers can reach");
    if (++tag == tags.end) tag = tags.begin;
  }
  tags.next = tag + 1 < tags.end ? tag + 1 : tags.begin;
  Range range{.tag = tag, .size = memory.size()};
  for (const Vcq& vcq : vcqs_) {
    utofu_stadd_t base = 0;
    utofu_stadd_t stadd = 0;
    int code = api_.query_stadd(vcq.id, tag, &base);
    if (code == UTOFU_SUCCESS)
      code = api_.reg_mem_with_stag(vcq.handle, memory.data() - ahead, rounded(memory.size() + ahead, kAlignment), tag,
                                    0, &stadd);
    if (code == UTOFU_SUCCESS) registered_[tag].push_back(stadd);
    // Whether a tag's address keeps the lower bits of the memory's is found out here: no public source tells.
    const std::uint64_t first = stadd - base + ahead;
    if (code == UTOFU_SUCCESS && first <= kLargestFirst && (vcq.id == vcqs_[0].id || first == range.first)) {
      range.first = first;
      continue;
    }
    leave(tag);
    return none_left("uTofu does not register memory of " + std::to_string(memory.size()) + " bytes: code " +
                     std::to_string(code));
  }
  const ir::RemotePlace place = place::pack(range, salt_);
  keys_[tag] = place.key;
  return place;
}

void Memory::leave(std::uint32_t tag) {
  for (std::size_t engine = 0; engine < registered_[tag].size(); ++engine)
    api_.dereg_mem(vcqs_[engine].handle, registered_[tag][engine], 0);
  registered_[tag].clear();
}

void Memory::withdraw_all() {
  for (std::uint32_t tag = 0; tag < registered_.size(); ++tag) leave(tag);
}

Result<void> Memory::add_arena(std::size_t bytes) {
  const std::size_t size = rounded(bytes, kArena);
  Owned memory = fresh(size);
  if (!memory) return too_much(bytes);
  const auto place = enter(of_arenas_, {memory.get(), size});
  if (!place) return std::unexpected(place.error());
  const std::uint32_t tag = place::range_of(place->key).tag;
  arenas_.push_back({.memory = std::move(memory), .size = size, .tag = tag, .space = base::FreeSpace(size)});
  return {};
}

std::size_t Memory::arena_of(const std::byte* memory, std::size_t bytes) const {
  const auto found = std::ranges::find_if(arenas_, [&](const Arena& arena) {
    return memory >= arena.memory.get() && memory + std::max<std::size_t>(bytes, 1) <= arena.memory.get() + arena.size;
  });
  return static_cast<std::size_t>(found - arenas_.begin());
}

Result<ir::ExposedMemory> Memory::allocate(std::size_t bytes) {
  if (bytes > kMost) return too_much(bytes);
  const std::size_t size = rounded(bytes, kAlignment);
  for (std::size_t i = 0;; ++i) {
    if (i == arenas_.size())
      if (auto added = add_arena(size); !added) return std::unexpected(std::move(added.error()));
    Arena& arena = arenas_[i];
    const auto at = arena.space.take(size);
    if (!at) continue;
    if (*at > kLargestStep) {
      arena.space.give_back(*at);
      continue;
    }
    std::byte* const memory = arena.memory.get() + *at;
    std::memset(memory, 0, bytes);
    const Range range{.tag = arena.tag, .first = place::range_of(keys_[arena.tag]).first + *at, .size = bytes};
    return ir::ExposedMemory{.memory = {memory, bytes}, .place = place::pack(range, salt_)};
  }
}

void Memory::deallocate(const ir::ExposedMemory& memory) {
  const std::size_t number = arena_of(memory.memory.data(), memory.memory.size());
  if (number == arenas_.size()) return;
  Arena& arena = arenas_[number];
  arena.space.give_back(static_cast<std::size_t>(memory.memory.data() - arena.memory.get()));
}

Result<ir::ExposedMemory> Memory::allocate_area(std::size_t bytes) {
  Owned memory = fresh(bytes);
  if (!memory) return too_much(bytes);
  std::memset(memory.get(), 0, bytes);
  const auto place = enter(of_areas_, {memory.get(), bytes});
  if (!place) return std::unexpected(place.error());
  Area& area = areas_[memory.get()];
  area = {.memory = std::move(memory), .key = place->key};
  return ir::ExposedMemory{.memory = {area.memory.get(), bytes}, .place = *place};
}

void Memory::release_area(const ir::ExposedMemory& memory) {
  withdraw(memory.place);
  areas_.erase(memory.memory.data());
}

Result<ir::RemotePlace> Memory::expose(std::span<std::byte> memory, bool as_area) {
  static std::byte nothing{}; // an empty range of an empty vector has a place, too
  if (memory.size() > kMost) return too_much(memory.size());
  if (memory.data() == nullptr) memory = {&nothing, 0};
  return enter(as_area ? of_areas_ : of_messages_, memory);
}

void Memory::withdraw(const ir::RemotePlace& place) {
  const std::uint32_t tag = place::range_of(place.key).tag;
  // A tag that has been given to other memory since is that memory's.
  if (tag >= of_areas_.begin && keys_[tag] == place.key) leave(tag);
}

utofu_stadd_t Memory::find(const std::byte* memory, std::size_t bytes, std::size_t engine) const {
  const std::size_t number = arena_of(memory, bytes);
  if (number == arenas_.size()) return 0;
  const Arena& arena = arenas_[number];
  return registered_[arena.tag][engine] + static_cast<std::uint64_t>(memory - arena.memory.get());
}

} // namespace heddle::translators::utofu
