// Where the others stand cannot be asked of dlsym, which is what is looked for: the objects behind this one are searched, by the hash
// tables in which the dynamic linker itself looks. All other questions are passed on by a jump, not a call (-O2, and a test holds to
// it): what RTLD_NEXT means depends on who asks, which is seen by the return address.
#include "paths/preload/lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#ifdef __clang__
#define HEDDLE_BY_A_JUMP [[clang::musttail]]
#else
#define HEDDLE_BY_A_JUMP // GCC 12 has no word for it
#endif

namespace heddle::paths::lookup {
namespace {

using Plain = void* (*)(void* handle, const char* name);
using Versioned = void* (*)(void* handle, const char* name, const char* version);

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The tables of one loaded object.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hashes = nullptr; // DT_GNU_HASH

  explicit Tables(const dl_phdr_info& object) {
    const ElfW(Dyn)* entry = nullptr;
    for (ElfW(Half) i = 0; i < object.dlpi_phnum; ++i)
      if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
        entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      // The linker has turned most into addresses; where the table cannot be written, they still count from the object's start.
      const ElfW(Addr) at =
          entry->d_un.d_ptr < object.dlpi_addr ? entry->d_un.d_ptr + object.dlpi_addr : entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const std::uint32_t*>(at);
    }
  }

  // The value of the symbol that the object defines by this name; 0 where it defines none.
  [[nodiscard]] ElfW(Addr) find(const char* name) const {
    if (symbols == nullptr || names == nullptr || hashes == nullptr) return 0;
    const std::uint32_t buckets = hashes[0];
    const std::uint32_t first = hashes[1];
    if (buckets == 0) return 0;
    const std::uint32_t* const bucket = hashes + 4 + hashes[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const chain = bucket + buckets;
    const std::uint32_t hash = hash_of(name);
    std::uint32_t index = bucket[hash % buckets];
    if (index < first) return 0;
    for (;; ++index) {
      const std::uint32_t here = chain[index - first];
      const ElfW(Sym)& symbol = symbols[index];
      if ((here | 1U) == (hash | 1U) && symbol.st_shndx != SHN_UNDEF && std::strcmp(names + symbol.st_name, name) == 0)
        return symbol.st_value;
      if ((here & 1U) != 0) return 0; // the last of its bucket
    }
  }
};

struct Search {
  const char* name;
  bool passed_own = false;
  void* found = nullptr;
};

bool holds(const dl_phdr_info& object, ElfW(Addr) address) {
  for (ElfW(Half) i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const ElfW(Addr) start = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= start && address - start < part.p_memsz) return true;
  }
  return false;
}

int look_in(dl_phdr_info* object, std::size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (!search.passed_own) {
    search.passed_own = holds(*object, reinterpret_cast<ElfW(Addr)>(&look_in));
    return 0;
  }
  const ElfW(Addr) value = Tables(*object).find(search.name);
  if (value == 0) return 0;
  search.found = reinterpret_cast<void*>(object->dlpi_addr + value);
  return 1;
}

// Not inline: what stands on the stack of a function whose address is known keeps its last call from becoming a jump.
[[gnu::noinline]] void* behind_us(const char* name) {
  Search search{.name = name};
  ::dl_iterate_phdr(look_in, &search);
  return search.found;
}

template <typename Type>
Type cached(std::atomic<void*>& place, const char* name) {
  void* found = place.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = behind_us(name);
    if (found == nullptr) __builtin_trap(); // a C library without it: this library could not have been linked
    place.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<Type>(found);
}

std::atomic<void*> plain_place;
std::atomic<void*> versioned_place;

Plain plain() {
  return cached<Plain>(plain_place, "dlsym");
}

Versioned with_version() {
  return cached<Versioned>(versioned_place, "dlvsym");
}

// Ours for what was found, where the program asks one library and we stand in front of what it has found there.
[[gnu::noinline]] void* in_place_of(void* found, const char* name, const char* version) {
  if (found == nullptr) return nullptr;
  for (const Replacement* each = replacements; each->name != nullptr; ++each) {
    if (std::strcmp(each->name, name) != 0 || std::strcmp(each->version, version) != 0) continue;
    // Another library's function of that name, such as a wrapper's, is the program's own affair.
    const char* const library = std::strncmp(name, "ibv_", 4) == 0 ? "libibverbs.so.1" : "libmlx5.so.1";
    void* const handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return found;
    return with_version()(handle, name, version) == found ? each->own : found;
  }
  return found;
}

// Nearly all questions are no matter of ours; the answer is given without a call, so that the jump stays one.
inline const Replacement* replacement_of(void* handle, const char* name) {
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) return nullptr; // these find ours where it is right
  if (name[0] != 'i' && name[0] != 'm') return nullptr;
  for (const Replacement* each = replacements; each->name != nullptr; ++each)
    if (std::strcmp(each->name, name) == 0) return each;
  return nullptr;
}

} // namespace

void* versioned(void* handle, const char* name, const char* version) {
  return with_version()(handle, name, version);
}

} // namespace heddle::paths::lookup

using namespace heddle::paths::lookup;

extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  const auto next = plain();
  if (const Replacement* own = replacement_of(handle, name); own != nullptr)
    return in_place_of(next(handle, name), name, own->version);
  HEDDLE_BY_A_JUMP return next(handle, name);
}

extern "C" [[gnu::visibility("default")]] void* dlvsym(void* handle, const char* name, const char* version) noexcept {
  const auto next = with_version();
  if (replacement_of(handle, name) != nullptr) return in_place_of(next(handle, name, version), name, version);
  HEDDLE_BY_A_JUMP return next(handle, name, version);
}
