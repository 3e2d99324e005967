#include "tests/threads/one_mapping.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <mutex>

namespace {

struct Mapped {
  ino_t file = 0;
  std::size_t bytes = 0;
  int users = 0;
};
std::mutex mutex;
std::map<void*, Mapped> mapped;
int shared_mappings = 0;

} // namespace

// The linker sends the library's calls here (tests/CMakeLists.txt).
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void* at, std::size_t bytes);

void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);
void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  struct stat status{};
  if ((flags & MAP_SHARED) == 0 || file < 0 || ::fstat(file, &status) != 0)
    return __real_mmap(at, bytes, protection, flags, file, offset);
  const std::scoped_lock lock(mutex);
  for (auto& [data, known] : mapped) {
    if (known.file != status.st_ino || known.bytes != bytes) continue;
    ++known.users;
    ++shared_mappings;
    return data;
  }
  void* data = __real_mmap(at, bytes, protection, flags, file, offset);
  if (data != MAP_FAILED) mapped[data] = {.file = status.st_ino, .bytes = bytes, .users = 1};
  return data;
}

int __wrap_munmap(void* at, std::size_t bytes);
int __wrap_munmap(void* at, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  const auto known = mapped.find(at);
  if (known == mapped.end()) return __real_munmap(at, bytes);
  if (--known->second.users > 0) return 0;
  mapped.erase(known);
  return __real_munmap(at, bytes);
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace heddle::tests {

int mappings_shared() {
  const std::scoped_lock lock(mutex);
  return shared_mappings;
}

} // namespace heddle::tests
