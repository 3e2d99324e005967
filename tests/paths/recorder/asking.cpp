// The first of two libraries with a function of this name. It asks for the next one, as libraries do that stand in front of others:
// that is the second library's, whoever stands between the question and the dynamic linker.
#include <dlfcn.h>

extern "C" [[gnu::visibility("default")]] int which_library();
int which_library() {
  return 1;
}

extern "C" [[gnu::visibility("default")]] int next_library(const char* version);
int next_library(const char* version) {
  void* const next =
      version == nullptr ? ::dlsym(RTLD_NEXT, "which_library") : ::dlvsym(RTLD_NEXT, "which_library", version);
  return next == nullptr ? 0 : reinterpret_cast<int (*)()>(next)();
}
