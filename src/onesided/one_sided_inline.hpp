// The part of one-sided operations that ends at once, inline: pushes, pulls, atomics and locks in direct memory. Included by
// one_sided_engine.hpp alone.
#pragma once

#include "onesided/one_sided_engine.hpp"

#include "base/shared_words.hpp"

namespace heddle::onesided {

inline const KnownArea* OneSidedEngine::reach(const Place& place, std::uint64_t bytes) const {
  const KnownArea* area =
      common_.known.find(static_cast<std::uint32_t>(place.peer), static_cast<std::uint64_t>(place.area));
  if (area == nullptr || !area->direct.exists() || place.offset > area->bytes || bytes > area->bytes - place.offset)
      [[unlikely]]
    return nullptr;
  return area;
}

inline bool OneSidedEngine::push_now(const Place& to, std::span<const std::byte> data) {
  const KnownArea* area = reach(to, data.size());
  if (area == nullptr || data.data() == nullptr || !area->direct.enter()) [[unlikely]]
    return false;
  base::store_in_order(area->direct.memory + to.offset, data.data(), data.size());
  area->direct.leave();
  return true;
}

inline bool OneSidedEngine::pull_now(const Place& from, std::span<std::byte> into) {
  const KnownArea* area = reach(from, into.size());
  if (area == nullptr || into.data() == nullptr || !area->direct.enter()) [[unlikely]]
    return false;
  base::copy_bytes(into.data(), area->direct.memory + from.offset, into.size());
  area->direct.leave();
  return true;
}

inline std::optional<std::uint64_t> OneSidedEngine::atomic_now(const Place& at, const Atomic& operation) {
  const std::uint32_t bytes = operation.bytes;
  if (!is_sound(operation, at.offset)) [[unlikely]]
    return {};
  const KnownArea* area = reach(at, bytes);
  if (area == nullptr || !area->atomics || !area->direct.enter()) [[unlikely]]
    return {};
  const std::uint64_t before = apply_here(operation, area->direct.memory + at.offset);
  area->direct.leave();
  return before;
}

inline bool OneSidedEngine::lock_now(Rank home, AreaId id) {
  KnownArea* area = common_.known.find(static_cast<std::uint32_t>(home), static_cast<std::uint64_t>(id));
  return area != nullptr && locks_.lock_now(*area);
}

inline bool OneSidedEngine::unlock_now(Rank home, AreaId id) {
  KnownArea* area = common_.known.find(static_cast<std::uint32_t>(home), static_cast<std::uint64_t>(id));
  return area != nullptr && locks_.unlock_now(*area);
}

} // namespace heddle::onesided
