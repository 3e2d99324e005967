#include "base/environment.hpp"

#include <unistd.h>

namespace heddle::base {

Environment Environment::of_process() {
  std::vector<Variable> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return of(std::move(variables));
}

std::optional<std::string_view> Environment::lookup(std::string_view name) const {
  for (const auto& [key, value] : variables_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

} // namespace heddle::base
