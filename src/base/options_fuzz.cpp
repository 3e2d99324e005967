// Any text as the name or value of any option: an error or a value, never a crash. A line for each.
#include "base/fuzz_input.hpp"
#include "base/options.hpp"

namespace heddle::fuzz {

void options(Input& input) {
  std::vector<std::pair<std::string, std::string>> variables;
  while (!input.empty()) {
    const std::string_view line = input.line();
    const std::size_t equals = line.find('=');
    variables.emplace_back("HEDDLE_" + std::string(line.substr(0, equals)),
                           equals == std::string_view::npos ? "" : line.substr(equals + 1));
  }
  const auto resolved = base::resolve({}, base::Environment::of(std::move(variables)));
  if (!resolved) demand_message(resolved.error());
}

} // namespace heddle::fuzz
