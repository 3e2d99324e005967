#include "store/pmix_library.hpp"

#include "base/loaded_library.hpp"

#include <string>

namespace heddle::store::pmix {

namespace {

constexpr const char* kFile = "libpmix.so.2";

std::unexpected<Error> not_there(const std::string& why) {
  return std::unexpected(
      Error{.code = ErrorCode::store_failed,
            .fact = "the launcher speaks PMIx, and " + std::string(kFile) + " cannot be loaded: " + why,
            .remedy = "install libpmix (Debian: libpmix2); or use a launcher that speaks PMI"});
}

} // namespace

Result<Library> Library::load() {
  base::LoadedLibrary file(kFile, base::LoadedLibrary::Symbols::shared); // its own parts look for its symbols
  Library library;
  if (!file.find("PMIx_Init", library.init) || !file.find("PMIx_Finalize", library.finalize) ||
      !file.find("PMIx_Abort", library.abort) || !file.find("PMIx_Put", library.put) ||
      !file.find("PMIx_Commit", library.commit) || !file.find("PMIx_Fence_nb", library.fence) ||
      !file.find("PMIx_Get_nb", library.get) || !file.find("PMIx_Resolve_nodes", library.resolve_nodes) ||
      !file.find("PMIx_Error_string", library.error_text))
    return not_there(file.why());
  return library;
}

} // namespace heddle::store::pmix
