// Any bytes as an option file: entries or an error, never a crash.
#include "options_file/options_file.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void options_file(Input& input) {
  const std::string_view text = input.text();
  const auto reader = [&](const std::string& path) {
    auto entries = ::heddle::options_file::parse(text, path);
    if (!entries) demand(entries.error().fact.starts_with("fuzzed:"), "an error names its line");
    return entries;
  };
  const auto resolved = base::resolve({.file = "fuzzed"}, base::Environment{}, reader);
  if (!resolved) demand_message(resolved.error());
}

} // namespace heddle::fuzz
