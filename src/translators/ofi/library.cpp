#include "translators/ofi/library.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace heddle::translators::ofi {

Result<Library> Library::load() {
  constexpr const char* kFile = "libfabric.so.1";
  void* file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  Library library;
  const auto find = [file](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(file, name));
    return call != nullptr;
  };
  if (file != nullptr && find(library.getinfo, "fi_getinfo") && find(library.freeinfo, "fi_freeinfo") &&
      find(library.dupinfo, "fi_dupinfo") && find(library.fabric, "fi_fabric") && find(library.strerror, "fi_strerror"))
    return library;
  const char* why = ::dlerror();
  return std::unexpected(
      Error{.code = ErrorCode::unsupported,
            .fact = std::string(kFile) + " cannot be loaded: " + (why == nullptr ? "it lacks a call" : why),
            .remedy = "install libfabric (Debian: libfabric1), or name it in LD_LIBRARY_PATH"});
}

Error Library::error(const std::string& fact, long number) const {
  const int code = static_cast<int>(number < 0 ? -number : number);
  return {.code = ErrorCode::unsupported, .fact = fact + ": " + strerror(code)};
}

} // namespace heddle::translators::ofi
#endif
