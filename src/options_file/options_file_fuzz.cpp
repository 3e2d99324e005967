// Any bytes as an option file: entries or an error, never a crash.
#include "options_file/options_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reader = [&](const std::string& path) {
    return heddle::options_file::parse({reinterpret_cast<const char*>(data), size}, path);
  };
  const auto resolved = heddle::base::resolve({.file = "fuzzed"}, heddle::base::Environment{}, reader);
  if (!resolved && resolved.error().message().empty()) __builtin_trap();
  return 0;
}
