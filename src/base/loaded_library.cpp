#include "base/loaded_library.hpp"

#include <dlfcn.h>

#include <array>
#include <csignal>

namespace heddle::base {

namespace {

// A program's signals are its own: libpsm2, which comes along with libfabric, takes these over as it is loaded, to write a file of its own
// making where the program stands.
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

std::string loaders_words() {
  const char* words = ::dlerror();
  return words == nullptr ? "the loader does not say why" : words;
}

} // namespace

LoadedLibrary::LoadedLibrary(const std::string& name, Symbols symbols) {
  const OwnSignals kept;
  handle_ = ::dlopen(name.c_str(), RTLD_NOW | (symbols == Symbols::shared ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle_ == nullptr) why_ = loaders_words();
}

void* LoadedLibrary::look_up(const char* name) {
  void* const found = handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
  if (found == nullptr && why_.empty()) why_ = loaders_words();
  return found;
}

std::string file_of(const void* function) {
  Dl_info found{};
  return ::dladdr(function, &found) != 0 ? found.dli_fname : "";
}

} // namespace heddle::base
