#include "store/pmix_library.hpp"

#include <dlfcn.h>

#include <string>

namespace heddle::store::pmix {

namespace {

constexpr const char* kFile = "libpmix.so.2";

std::unexpected<Error> not_there(const char* why) {
  return std::unexpected(Error{.code = ErrorCode::store_failed,
                               .fact = "the launcher speaks PMIx, and " + std::string(kFile) +
                                       " cannot be loaded: " + (why == nullptr ? "unknown" : why),
                               .remedy = "install libpmix (Debian: libpmix2); or use a launcher that speaks PMI"});
}

} // namespace

Result<Library> Library::load() {
  void* file = ::dlopen(kFile, RTLD_NOW | RTLD_GLOBAL); // its own parts look for its symbols
  if (file == nullptr) return not_there(::dlerror());
  Library library;
  const auto find = [file](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(file, name));
    return call != nullptr;
  };
  if (!find(library.init, "PMIx_Init") || !find(library.finalize, "PMIx_Finalize") ||
      !find(library.abort, "PMIx_Abort") || !find(library.put, "PMIx_Put") || !find(library.commit, "PMIx_Commit") ||
      !find(library.fence, "PMIx_Fence_nb") || !find(library.get, "PMIx_Get_nb") ||
      !find(library.resolve_nodes, "PMIx_Resolve_nodes") || !find(library.error_text, "PMIx_Error_string"))
    return not_there(::dlerror());
  return library;
}

} // namespace heddle::store::pmix
