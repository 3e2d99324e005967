// Preloaded for UCX, which looks for an adapter's device file before it asks libibverbs for the adapter: that of the one
// that is not there (recorder.cpp) is /dev/null.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#define SEEN extern "C" [[gnu::visibility("default")]]

namespace {

const char* real_path(const char* path) {
  return std::strcmp(path, "/dev/infiniband/recorder0") == 0 ? "/dev/null" : path;
}

} // namespace

SEEN int access(const char* path, int mode) noexcept {
  return ::faccessat(AT_FDCWD, real_path(path), mode, 0);
}
SEEN int stat(const char* path, struct stat* about) noexcept {
  return ::fstatat(AT_FDCWD, real_path(path), about, 0);
}
