// A library of the system's that is found at run time, so that one build of Heddle serves machines with and without it. It stays loaded until
// the process ends: drivers do not like to be unloaded.
#pragma once

#include <string>
#include <type_traits>

namespace heddle::base {

class LoadedLibrary {
 public:
  enum class Symbols : bool { own, shared }; // shared: other libraries look for them, too
  // A file, or a name that the system's loader finds. What the program does on signals stays as it is.
  explicit LoadedLibrary(const std::string& name, Symbols symbols = Symbols::own);

  // False where it, or this or an earlier function, is not there.
  template <typename Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<std::remove_reference_t<Function>>(look_up(name));
    return whole();
  }
  [[nodiscard]] bool is_there() const { return handle_ != nullptr; }
  [[nodiscard]] bool whole() const { return why_.empty(); }
  // What was not found first, in the loader's words.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void* look_up(const char* name);

  void* handle_ = nullptr;
  std::string why_;
};

// The file that a function comes from.
std::string file_of(const void* function);

} // namespace heddle::base
