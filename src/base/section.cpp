#include "base/section.hpp"

#include <algorithm>

#include "base/range.hpp"

namespace heddle::base {

Values::Values(const Section& section) : section_(section), values_(section.options.size()) {
  for (const SectionOption& option : section.options) assign(option, option.initial);
}

bool Values::assign(const SectionOption& option, std::string_view text) {
  Value& held = values_[index_of(option)];
  const Range range{.least = option.least, .most = option.most, .bytes = option.kind == SectionOption::Kind::size};
  switch (option.kind) {
    case SectionOption::Kind::text: held.text = text; return true;
    case SectionOption::Kind::number:
    case SectionOption::Kind::size: {
      const auto number = range.read(text);
      if (number) held = {.text = range.bytes ? print_size(*number) : std::to_string(*number), .number = *number};
      return number.has_value();
    }
    case SectionOption::Kind::choice: {
      const auto word = std::ranges::find(option.words, text);
      if (word == option.words.end()) return false;
      held = {.text = std::string(text), .number = static_cast<std::uint64_t>(word - option.words.begin())};
      return true;
    }
  }
  return false;
}

std::size_t Values::index_of(const SectionOption& option) const {
  const auto found = std::ranges::find(section_.options, option.name, &SectionOption::name);
  return static_cast<std::size_t>(found - section_.options.begin());
}

} // namespace heddle::base
