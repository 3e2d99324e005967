#include "step_names.hpp"

#include <algorithm>
#include <array>

namespace heddle::tool {
namespace {

struct Part {
  std::string_view name;
  char letter;
  int Step::* axis;
  int by;
};
// Rows before columns before layers, as compasses do.
constexpr std::array<Part, 6> kParts{{{"north", 'N', &Step::row, -1},
                                      {"south", 'S', &Step::row, 1},
                                      {"east", 'E', &Step::column, 1},
                                      {"west", 'W', &Step::column, -1},
                                      {"up", 'U', &Step::layer, 1},
                                      {"down", 'D', &Step::layer, -1}}};

} // namespace

std::string name_of(Step step) {
  std::string name;
  for (const Part& part : kParts)
    if (step.*part.axis == part.by) name += (name.empty() ? "" : "-") + std::string(part.name);
  return name;
}

std::string brief_of(Step step) {
  std::string name;
  for (const Part& part : kParts)
    if (step.*part.axis == part.by) name += part.letter;
  return name;
}

std::optional<Step> parse_step(std::string_view text) {
  Step step;
  while (true) {
    const std::string_view word = text.substr(0, text.find('-'));
    const auto part = std::ranges::find(kParts, word, &Part::name);
    if (part == kParts.end() || step.*part->axis != 0) return {};
    step.*part->axis = part->by;
    if (word.size() == text.size()) return step;
    text.remove_prefix(word.size() + 1);
  }
}

} // namespace heddle::tool
