// The environment as a value, so that whoever reads it says so in its signature and tests can make one. A process that
// joins reads it in api/join.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::base {

class Environment {
 public:
  using Variable = std::pair<std::string, std::string>;

  Environment() = default; // no variables at all

  static Environment of(std::vector<Variable> variables) {
    Environment environment;
    environment.variables_ = std::move(variables);
    return environment;
  }

  // A copy of this process's environment as it is now.
  static Environment of_process();

  // The value of a variable, nothing when it is not set. Linear; the view lives as long as this object.
  [[nodiscard]] std::optional<std::string_view> lookup(std::string_view name) const;

  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }

 private:
  std::vector<Variable> variables_;
};

} // namespace heddle::base
