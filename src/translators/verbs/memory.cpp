#include "translators/verbs/memory.hpp"

#include "base/free_memory.hpp"

#include <cerrno>
#include <limits>

#include <sys/mman.h>
#include <sys/resource.h>

namespace heddle::translators::verbs {

namespace {

constexpr unsigned kAll =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::size_t kPage = 4096;
// Memory keeps its place within so much, that an adapter with large pages can use them.
constexpr std::uint64_t kAlike = (std::uint64_t{1} << 30U) - 1;

} // namespace

Memory::~Memory() {
  for (auto& [key, area] : areas_) {
    if (area.registered != nullptr) device_.library().dereg_mr(area.registered);
    if (area.mapped != 0) ::munmap(area.data, area.mapped);
  }
}

Error Memory::refusal(const char* what, std::uint64_t bytes, int number) const {
  rlimit limit{};
  std::string remedy = "use less memory";
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    remedy = "raise the limit on locked memory, which is " + std::to_string(limit.rlim_cur >> 10U) +
             " KiB: ulimit -l unlimited, or memlock in /etc/security/limits.conf";
  return {.code = ErrorCode::out_of_memory,
          .fact = std::string(what) + " " + std::to_string(bytes) + " bytes for device " + device_.name(),
          .remedy = std::move(remedy),
          .system_code = number};
}

Result<ir::RemotePlace> Memory::enter(std::span<std::byte> memory, std::uint64_t base, std::uint64_t first,
                                      std::size_t mapped) {
  const std::uint64_t address = (base << 30U) + first;
  const std::size_t bytes = std::max<std::size_t>(memory.size(), 1);
  ibv_mr* registered = device_.library().reg_mr(&device_.domain(), memory.data(), bytes, address, kAll);
  if (registered == nullptr && (errno == EFAULT || errno == EACCES) && mapped == 0) // it may only be read
    registered = device_.library().reg_mr(&device_.domain(), memory.data(), bytes, address, IBV_ACCESS_REMOTE_READ);
  if (registered == nullptr) return std::unexpected(refusal("cannot lock", memory.size(), errno));
  const std::uint64_t key = base << 32U | registered->rkey;
  areas_[key] = {
      .registered = registered, .data = memory.data(), .bytes = memory.size(), .first = first, .mapped = mapped};
  return ir::RemotePlace{.key = ir::MemoryKey{key}, .offset = first};
}

Result<ir::ExposedMemory> Memory::allocate(std::size_t bytes, std::optional<std::uint64_t> base) {
  const std::size_t mapped = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  if (bytes > std::numeric_limits<std::size_t>::max() / 2 || !base::memory_suffices(bytes))
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "there are no " + std::to_string(bytes) + " bytes of memory",
                                 .remedy = "use less memory"});
  void* data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return std::unexpected(refusal("cannot map", bytes, errno));
  const std::span memory(static_cast<std::byte*>(data), bytes);
  auto place = enter(memory, base ? *base : draw_base(), 0, mapped);
  if (!place) {
    ::munmap(data, mapped);
    return std::unexpected(std::move(place.error()));
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  lasting_[begin] = {.end = begin + bytes,
                     .address = adapter_address(*place),
                     .key = areas_[static_cast<std::uint64_t>(place->key)].registered->lkey};
  return ir::ExposedMemory{.memory = memory, .place = *place};
}

void Memory::deallocate(const ir::ExposedMemory& memory) {
  const auto found = areas_.find(static_cast<std::uint64_t>(memory.place.key));
  if (found == areas_.end() || found->second.mapped == 0) return;
  withdraw(memory.place);
  lasting_.erase(reinterpret_cast<std::uintptr_t>(found->second.data));
  ::munmap(found->second.data, found->second.mapped);
  areas_.erase(found);
}

Result<ir::RemotePlace> Memory::expose(std::span<std::byte> memory) {
  return enter(memory, draw_base(), reinterpret_cast<std::uintptr_t>(memory.data()) & kAlike, 0);
}

void Memory::withdraw(const ir::RemotePlace& place) {
  const auto found = areas_.find(static_cast<std::uint64_t>(place.key));
  if (found == areas_.end() || found->second.registered == nullptr) return;
  if (found->second.mapped != 0) lasting_.erase(reinterpret_cast<std::uintptr_t>(found->second.data));
  device_.library().dereg_mr(found->second.registered);
  found->second.registered = nullptr;
  if (found->second.mapped == 0) areas_.erase(found);
}

std::byte* Memory::reach(const ir::RemotePlace& place, std::uint64_t bytes) const {
  const auto found = areas_.find(static_cast<std::uint64_t>(place.key));
  if (found == areas_.end() || found->second.registered == nullptr) return nullptr;
  const Area& area = found->second;
  const std::uint64_t at = place.offset - area.first; // wraps to far beyond the end where it is before the beginning
  return at <= area.bytes && bytes <= area.bytes - at ? area.data + at : nullptr;
}

std::optional<Memory::Pinned> Memory::pin(std::byte* from, std::uint64_t bytes, bool written) {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  if (auto after = lasting_.upper_bound(begin); after != lasting_.begin()) {
    const auto& [first, lasting] = *std::prev(after);
    if (begin + bytes <= lasting.end) return Pinned{.address = lasting.address + (begin - first), .key = lasting.key};
  }
  ibv_mr* own =
      device_.library().reg_mr(&device_.domain(), from, bytes, begin, written ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0U);
  if (own == nullptr) return std::nullopt;
  return Pinned{.address = begin, .key = own->lkey, .own = own};
}

void Memory::unpin(ibv_mr* own) {
  if (own != nullptr) device_.library().dereg_mr(own);
}

Memory::Pool::Piece Memory::Pool::take() {
  if (free_.empty()) {
    const std::size_t bytes = piece_ * at_once_;
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return {};
    // Peers have no right to it. It goes with all other memory in the end.
    ibv_mr* registered = memory_.device_.library().reg_mr(
        &memory_.device_.domain(), data, bytes, reinterpret_cast<std::uintptr_t>(data), IBV_ACCESS_LOCAL_WRITE);
    if (registered == nullptr) {
      ::munmap(data, bytes);
      return {};
    }
    // Keys of what is exposed have drawn bits; these none.
    memory_.areas_[reinterpret_cast<std::uintptr_t>(data)] = {
        .registered = registered, .data = static_cast<std::byte*>(data), .bytes = 0, .mapped = bytes};
    for (std::size_t i = 0; i < at_once_; ++i)
      free_.push_back({.data = static_cast<std::byte*>(data) + i * piece_, .key = registered->lkey});
  }
  const Piece piece = free_.back();
  free_.pop_back();
  return piece;
}

} // namespace heddle::translators::verbs
