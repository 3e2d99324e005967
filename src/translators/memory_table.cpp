#include "translators/memory_table.hpp"

#include "translators/execute.hpp"

#include "base/free_memory.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace heddle::translators {

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kFirstPlaces = 16;
// From this size on memory is mapped: pages of it that nobody touches, as most of a ring's to a peer that sends little, are
// neither zeroed nor there.
constexpr std::size_t kMappedFrom = 64 << 10;
// Whether there is so much is asked from this size on: rings are smaller, and simulated jobs make many.
constexpr std::size_t kMuch = std::size_t{256} << 20U;

} // namespace

MemoryTable::MemoryTable() : areas_(kFirstPlaces) {}

MemoryTable::~MemoryTable() {
  for (const Area& area : areas_)
    if (area.state == State::owned || area.state == State::withdrawn) give_back(area);
}

MemoryTable::Area MemoryTable::zeroed(std::size_t bytes) {
  Area area{.bytes = bytes, .state = State::owned};
  // The library rounds sizes up to the alignment, and does not notice when that wraps.
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return area;
  // Mapped, it would be taken page by page by whoever writes there, until the kernel ends somebody.
  if (bytes >= kMuch && !base::memory_suffices(bytes)) return area;
  if (bytes >= kMappedFrom) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area.mapped = data != MAP_FAILED; // there may be too many mappings
    if (area.mapped) {
      area.data = static_cast<std::byte*>(data);
      return area;
    }
  }
  area.data = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  if (area.data != nullptr) std::memset(area.data, 0, bytes);
  return area;
}

void MemoryTable::give_back(const Area& area) {
  if (area.mapped)
    ::munmap(area.data, area.bytes);
  else
    ::operator delete(area.data, kAlignment);
}

// Keys may count or be multiples of anything: the upper bits of the product depend on all of theirs.
std::size_t MemoryTable::home(ir::MemoryKey key) const {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key) * 0x9e37'79b9'7f4a'7c15U;
  return mixed >> (64 - std::countr_zero(areas_.size()));
}

std::size_t MemoryTable::place_of(ir::MemoryKey key) const {
  std::size_t at = home(key);
  while (areas_[at].state != State::empty && areas_[at].key != key) at = after(at);
  return at;
}

void MemoryTable::insert(const Area& area) {
  if (8 * (used_ + 1) > 7 * areas_.size()) { // searches grow long beyond
    std::vector<Area> old(2 * areas_.size());
    std::swap(old, areas_);
    for (const Area& moved : old)
      if (moved.state != State::empty) areas_[place_of(moved.key)] = moved;
  }
  Area& place = areas_[place_of(area.key)];
  if (place.state == State::empty) ++used_;
  place = area;
}

// Knuth, "The Art of Computer Programming", vol. 3, algorithm 6.4R: those behind it that a search would no longer find move up.
void MemoryTable::erase(std::size_t at) {
  --used_;
  for (std::size_t next = after(at); areas_[next].state != State::empty; next = after(next)) {
    const std::size_t from = home(areas_[next].key);
    const bool stays = at < next ? at < from && from <= next : at < from || from <= next;
    if (stays) continue;
    areas_[at] = areas_[next];
    at = next;
  }
  areas_[at] = {};
}

Result<ir::ExposedMemory> MemoryTable::allocate(ir::MemoryKey key, std::size_t bytes) {
  Area area = zeroed(bytes);
  if (area.data == nullptr)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "no memory for " + std::to_string(bytes) + " bytes that peers can reach",
                                 .remedy = "lower ring_memory"});
  area.key = key;
  insert(area);
  return ir::ExposedMemory{.memory = {area.data, bytes}, .place = {.key = key, .offset = 0}};
}

void MemoryTable::deallocate(const ir::ExposedMemory& memory) {
  const std::size_t at = place_of(memory.place.key);
  const Area area = areas_[at];
  if (area.state == State::empty) return;
  if (area.state != State::exposed) give_back(area);
  erase(at);
}

ir::RemotePlace MemoryTable::expose(ir::MemoryKey key, std::span<std::byte> memory) {
  // Null stands for what cannot be reached, but nothing at all can be: an empty range of an empty vector has a place too.
  static std::byte nothing{};
  std::byte* const data = memory.data() != nullptr ? memory.data() : &nothing;
  insert({.key = key, .data = data, .bytes = memory.size(), .state = State::exposed});
  return {.key = key, .offset = 0};
}

void MemoryTable::withdraw(ir::MemoryKey key) {
  const std::size_t at = place_of(key);
  switch (areas_[at].state) {
    case State::empty:
    case State::withdrawn: return;
    case State::exposed: return erase(at);
    case State::owned: areas_[at].state = State::withdrawn; return;
  }
}

std::byte* MemoryTable::reach(const ir::RemotePlace& place, std::uint64_t bytes) const {
  const Area& area = find(place.key);
  if (area.state == State::empty || area.state == State::withdrawn) return nullptr;
  if (place.offset > area.bytes || bytes > area.bytes - place.offset) return nullptr;
  return area.data + place.offset;
}

ir::Status MemoryTable::execute(const ir::Command& command, std::uint64_t& value) const {
  std::byte* at = reach(command.remote, extent_of(command));
  if (at == nullptr || !is_sound(command, at)) return ir::Status::refused;
  value = translators::execute(command, at);
  return ir::Status::ok;
}

} // namespace heddle::translators
