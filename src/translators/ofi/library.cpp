#include "translators/ofi/library.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include "base/loaded_library.hpp"

#include <string>

namespace heddle::translators::ofi {

Result<Library> Library::load() {
  constexpr const char* kFile = "libfabric.so.1";
  base::LoadedLibrary file(kFile);
  Library made;
  if (file.find("fi_getinfo", made.getinfo) && file.find("fi_freeinfo", made.freeinfo) &&
      file.find("fi_dupinfo", made.dupinfo) && file.find("fi_fabric", made.fabric) &&
      file.find("fi_strerror", made.strerror))
    return made;
  return std::unexpected(Error{.code = ErrorCode::unsupported,
                               .fact = std::string(kFile) + " cannot be loaded: " + file.why(),
                               .remedy = "install libfabric (Debian: libfabric1), or name it in LD_LIBRARY_PATH"});
}

Error Library::error(const std::string& fact, long number) const {
  const int code = static_cast<int>(number < 0 ? -number : number);
  return {.code = ErrorCode::unsupported, .fact = fact + ": " + strerror(code)};
}

} // namespace heddle::translators::ofi
#endif
