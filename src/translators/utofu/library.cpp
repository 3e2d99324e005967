#include "translators/utofu/library.hpp"

#include <map>
#include <mutex>

#include <dlfcn.h>

namespace heddle::translators::utofu {

namespace {

Error missing(std::string fact) {
  return {.code = ErrorCode::unsupported,
          .fact = std::move(fact),
          .remedy = "this machine needs Tofu, and option utofu.library the path of its libtofucom.so"};
}

Result<Library> open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return std::unexpected(missing(std::string("the uTofu library cannot be loaded: ") + ::dlerror()));
  Library library;
  const char* lacking = nullptr;
  const auto find = [&]<typename Function>(const char* function, Function& into) {
    into = reinterpret_cast<Function>(::dlsym(handle, function));
    if (into == nullptr) lacking = function;
  };
#define HEDDLE_UTOFU_FIND(name) find("utofu_" #name, library.name);
  HEDDLE_UTOFU_FUNCTIONS(HEDDLE_UTOFU_FIND)
#undef HEDDLE_UTOFU_FIND
  if (lacking != nullptr) return std::unexpected(missing(name + " has no function " + lacking));
  Dl_info found{};
  library.where = ::dladdr(reinterpret_cast<void*>(library.poll_mrq), &found) != 0 ? found.dli_fname : name;
  return library;
}

} // namespace

Result<const Library*> load(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Library> loaded;
  const std::lock_guard lock(mutex);
  auto found = loaded.find(name);
  if (found == loaded.end()) {
    auto library = open(name);
    if (!library) return std::unexpected(std::move(library.error()));
    found = loaded.emplace(name, std::move(*library)).first;
  }
  return &found->second;
}

} // namespace heddle::translators::utofu
