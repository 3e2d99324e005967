#include "translators/ofi/library.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include <dlfcn.h>

#include <array>
#include <csignal>
#include <string>
#include <type_traits>

namespace heddle::translators::ofi {

namespace {

// A program's signals are its own: libpsm2, which comes along, takes these over as it is loaded, to write a file of its own making where
// the program stands.
class OwnSignals {
 public:
  OwnSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~OwnSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  OwnSignals(const OwnSignals&) = delete;
  OwnSignals& operator=(const OwnSignals&) = delete;

 private:
  static constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_{};
};

} // namespace

Result<Library> Library::load() {
  constexpr const char* kFile = "libfabric.so.1";
  const OwnSignals kept;
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
