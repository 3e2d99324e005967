// Any text as the name or value of any option: an error or a value, never a crash.
#include "base/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const std::string value(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  const auto resolved = resolve({}, Environment::of({{"HEDDLE_" + name, value}}));
  if (!resolved && resolved.error().message().empty()) __builtin_trap();
  return 0;
}
