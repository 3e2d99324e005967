// libFuzzer around one target: the one whose name the program is called by (build-asan/fuzz/NAME).
#include "base/fuzz_input.hpp"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Memory that there is not is a null pointer, as it is without the sanitizer, and what peers ask for is soon too much. Where
// the library does not expect that, it is reported.
extern "C" const char* __asan_default_options();
const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1";
}

namespace {

heddle::fuzz::Target chosen = nullptr;

} // namespace

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  std::string_view name = *argc > 0 ? (*argv)[0] : "";
  name.remove_prefix(name.rfind('/') + 1); // npos + 1 is 0
  for (const auto& target : heddle::fuzz::targets())
    if (target.name == name) chosen = target.target;
  if (chosen != nullptr) return 0;
  std::fprintf(stderr,
               "fuzz: no target is called as this program is: call it by one of the names in build-asan/fuzz\n");
  std::exit(2);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heddle::fuzz::Input input(std::as_bytes(std::span(data, size)));
  chosen(input);
  return 0;
}
