// Any text in the variables that launchers set: an identity that holds together, or an error. A line for each variable.
#include "launch/identity.hpp"

#include "base/fuzz_input.hpp"
#include "store/address.hpp"

namespace heddle::fuzz {

void identity(Input& input) {
  base::Settings settings;
  settings.single = input.below(2) == 1;
  settings.store = input.line();
  std::vector<base::Environment::Variable> variables;
  while (!input.empty()) {
    const std::string_view line = input.line();
    const std::size_t equals = line.find('=');
    variables.emplace_back(std::string(line.substr(0, equals)),
                           std::string(equals == std::string_view::npos ? "" : line.substr(equals + 1)));
  }
  const auto identity = launch::detect(base::Environment::of(std::move(variables)), settings);
  if (!identity) return demand_message(identity.error());
  demand(identity->size == 0 || identity->rank < identity->size, "a rank is inside its job, where its size is known");
  if (identity->meeting != launch::Meeting::store) return;
  if (const auto address = store::parse_address(identity->store); !address) demand_message(address.error());
}

} // namespace heddle::fuzz
