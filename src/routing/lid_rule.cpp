#include "routing/lid_rule.hpp"

#include <string>

#include "base/refusal.hpp"

namespace heddle::routing {

Result<LidRule> parse_lid_rule(std::string_view text) {
  for (const LidRule& rule : kLidRules)
    if (rule.name == text) return rule;
  return refuse("no LID rule is called '" + std::string(text.substr(0, 80)) + "'", "expected conventional or report");
}

} // namespace heddle::routing
