#include "translators/shm/areas.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <thread>

namespace heddle::translators {

namespace {

// The entry's number in the low bits, drawn bits above.
constexpr std::uint64_t kIndexBits = 16;
constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
static_assert(kMostAreas <= kIndexMask);

// Also where its parent has not waited for it yet.
bool gone(std::uint64_t process) {
  return segments::has_ended(static_cast<std::int32_t>(process));
}

// An access is a copy: only one who is stopped, or worse, takes so long over it.
bool lasts_too_long(std::uint64_t process, std::chrono::nanoseconds waited) {
  constexpr std::chrono::seconds kForStopped{1};
  constexpr std::chrono::seconds kForAnybody{10};
  return waited >= kForAnybody || (waited >= kForStopped && segments::is_stopped(static_cast<std::int32_t>(process)));
}

// Rings have nothing to do with the memory of an area.
Error no_room(Error error) {
  if (error.code == ErrorCode::out_of_memory)
    error.remedy = "make it smaller, or raise the memory limit of the process or container (ulimit -v, -f)";
  return error;
}

// Why an area that is open cannot be mapped.
PeerAreas::Found not_mapped(const Error& error) {
  const bool lacking = error.code == ErrorCode::out_of_memory || error.code == ErrorCode::out_of_descriptors;
  return {.status = lacking ? ir::Status::exhausted : ir::Status::failed, .error = error.system_code};
}

} // namespace

AreaEntry* OwnAreas::table() const {
  return table_ == 0 ? nullptr : reinterpret_cast<AreaEntry*>(segment_.mapping().data() + table_);
}

Result<AreaEntry*> OwnAreas::free_entry() {
  if (table() == nullptr) {
    const auto offset = segment_.allocate(area_table_bytes(processes_));
    if (!offset) return std::unexpected(offset.error());
    table_ = *offset;
    publish_table(segment_.mapping().header(), *offset);
  }
  AreaEntry* entries = table();
  for (std::uint64_t i = 0; i < kMostAreas; ++i)
    if (entries[i].key.load(std::memory_order_relaxed) == 0) return &entries[i];
  return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                               .fact = "this process has " + std::to_string(kMostAreas) + " areas open",
                               .remedy = "close some, or use fewer and larger ones"});
}

std::uint64_t OwnAreas::open(AreaEntry& entry, const AreaContent& content) {
  const auto index = static_cast<std::uint64_t>(&entry - table());
  const std::uint64_t key = kAreaKey | (keys_.draw() << kIndexBits) | index;
  open_entry(entry, content, key);
  return key;
}

Result<OwnAreas::Made> OwnAreas::allocate(std::size_t bytes) {
  auto entry = free_entry();
  if (!entry) return std::unexpected(std::move(entry.error()));
  if (bytes > SIZE_MAX / 2)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "no memory for an area of " + std::to_string(bytes) + " bytes"});
  constexpr std::uint64_t kRounding = 64;
  auto segment = Segment::create(sizeof(SegmentHeader) + ((bytes + kRounding - 1) & ~(kRounding - 1)) + kRounding);
  if (!segment) return std::unexpected(no_room(std::move(segment.error())));
  auto offset = segment->allocate(bytes);
  if (!offset) return std::unexpected(no_room(std::move(offset.error())));
  const std::span memory{segment->mapping().data() + *offset, bytes};
  const std::uint64_t key =
      open(**entry, {.bytes = bytes,
                     .segment = {.process = ::getpid(), .descriptor = segment->descriptor(), .inode = segment->inode()},
                     .address = *offset});
  segments_.emplace(key, std::move(*segment));
  return Made{.key = key, .memory = memory};
}

Result<OwnAreas::Made> OwnAreas::expose(std::span<std::byte> memory) {
  auto entry = free_entry();
  if (!entry) return std::unexpected(std::move(entry.error()));
  const AreaContent content{
      .bytes = memory.size(), .segment = {}, .address = reinterpret_cast<std::uint64_t>(memory.data())};
  return Made{.key = open(**entry, content), .memory = memory};
}

Result<void> OwnAreas::close(std::uint64_t key) {
  AreaEntry& entry = table()[key & kIndexMask];
  // No processor holds a store back for so long: those who write `inside` go on to look at the key.
  constexpr std::chrono::milliseconds kSettles{100};
  // Where it was closed before, somebody may still be inside.
  if (entry.key.load(std::memory_order_relaxed) == key && !close_entry(entry, barrier_))
    std::this_thread::sleep_for(kSettles);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t rank = 0; rank < processes_; ++rank)
    for (std::uint64_t found = 0; (found = is_inside(inside()[rank])) != 0 && !gone(found);) {
      if (lasts_too_long(found, std::chrono::steady_clock::now() - begin))
        return std::unexpected(
            Error{.code = ErrorCode::timed_out,
                  .fact = "process " + std::to_string(found) + " does not come to the end of an access to an area here",
                  .remedy = "let it go on if it is stopped, or end it, and close the area again"});
      ::sched_yield();
    }
  return {};
}

PeerAreas::Found PeerAreas::find(const Mapping& main, std::uint32_t own_rank, std::uint64_t key, bool fenced) {
  if (const auto known = areas_.find(key); known != areas_.end()) return {.area = &known->second};
  try {
    return open(main, own_rank, key, fenced);
  } catch (const std::bad_alloc&) {
    return {.status = ir::Status::exhausted, .error = ENOMEM};
  }
}

PeerAreas::Found PeerAreas::open(const Mapping& main, std::uint32_t own_rank, std::uint64_t key, bool fenced) {
  const std::uint64_t offset = table_offset(main.header());
  const std::uint64_t index = key & kIndexMask;
  const std::uint64_t whole = area_table_bytes(own_rank + 1);
  if (offset == 0 || offset % alignof(AreaEntry) != 0 || index >= kMostAreas || offset > main.bytes() ||
      whole > main.bytes() - offset)
    return {};
  auto* entries = reinterpret_cast<AreaEntry*>(main.data() + offset);
  auto* inside = reinterpret_cast<InsideWord*>(entries + kMostAreas);
  const AreaEntry& entry = entries[index];
  AreaContent content;
  if (!read_entry(entry, key, content)) return {};
  Area area{.mapping = {},
            .direct = {.live = &entry.key,
                       .key = key,
                       .inside = &inside[own_rank].process,
                       .mark = static_cast<std::uint64_t>(::getpid()),
                       .fenced = fenced},
            .bytes = content.bytes,
            .address = content.address};
  if (content.segment.inode != 0) {
    auto mapping = segments::map_segment(content.segment);
    if (!mapping) {
      // An owner closes the area before it lets go of the memory.
      const bool open = entry.key.load(std::memory_order_acquire) == key;
      return open ? not_mapped(mapping.error()) : Found{};
    }
    if (area.address > mapping->bytes() || area.bytes > mapping->bytes() - area.address) return {};
    area.direct.memory = mapping->data() + area.address;
    area.mapping = std::move(*mapping);
  }
  return {.area = &areas_.emplace(key, std::move(area)).first->second};
}

} // namespace heddle::translators
