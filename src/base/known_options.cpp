#include "base/known_options.hpp"

#include <algorithm>

#include "base/nearest.hpp"

namespace heddle::base {
namespace {

std::string variable_name(std::string_view option) {
  std::string name(kVariablePrefix);
  for (const char c : option) name.push_back(c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  return name;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  return "did you mean " + std::string(nearest(name, known)) + "?";
}

} // namespace

KnownOptions::KnownOptions(std::span<const Section> sections) : sections_(sections) {
  for (const OptionRow& row : option_table())
    all_.push_back({.name = std::string(row.name), .variable = variable_name(row.name), .row = &row});
  for (std::size_t i = 0; i < sections.size(); ++i)
    for (const SectionOption& option : sections[i].options) {
      std::string name = std::string(sections[i].name) + "." + std::string(option.name);
      std::string variable = variable_name(name);
      all_.push_back({.name = std::move(name), .variable = std::move(variable), .in_section = &option, .section = i});
    }
}

const KnownOption* KnownOptions::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &KnownOption::name);
  return found == all_.end() ? nullptr : &*found;
}

const KnownOption* KnownOptions::find_variable(std::string_view variable) const {
  const auto found = std::ranges::find(all_, variable, &KnownOption::variable);
  return found == all_.end() ? nullptr : &*found;
}

const KnownOption* KnownOptions::find_bare(std::string_view name) const {
  const auto found = std::ranges::find_if(all_, [name](const KnownOption& option) {
    return option.in_section != nullptr && option.in_section->name == name;
  });
  return found == all_.end() ? nullptr : &*found;
}

bool KnownOptions::has_section(std::string_view name) const {
  return std::ranges::find(sections_, name, &Section::name) != sections_.end();
}

std::string KnownOptions::variables_like(std::string_view variable) const {
  std::vector<std::string_view> variables;
  for (const KnownOption& option : all_) {
    if (option.in_section != nullptr && variable == variable_name(option.in_section->name))
      return "it is " + option.variable;
    variables.push_back(option.variable);
  }
  return did_you_mean(variable, variables);
}

std::string KnownOptions::entries_like(std::string_view name, std::string_view section) const {
  const KnownOption* elsewhere = section.empty() ? find_bare(name) : find(name);
  if (elsewhere != nullptr && elsewhere->in_section != nullptr)
    return "it is " + std::string(elsewhere->in_section->name) + " in section [" + std::string(section_of(*elsewhere)) +
           "]";
  if (elsewhere != nullptr) return "it belongs to no section: write it above the first";
  std::vector<std::string_view> names;
  for (const KnownOption& option : all_) {
    if (section.empty() && option.row != nullptr) names.push_back(option.name);
    if (option.in_section != nullptr && section_of(option) == section) names.push_back(option.in_section->name);
  }
  return names.empty() ? "leave it out: the section has none at all" : did_you_mean(name, names);
}

std::string KnownOptions::section_options_like(std::string_view name) const {
  if (const KnownOption* bare = find_bare(name)) return "it is " + bare->name;
  if (find(name) != nullptr) return "it is a member of Options";
  std::vector<std::string_view> names;
  for (const KnownOption& option : all_)
    if (option.in_section != nullptr) names.push_back(option.name);
  return names.empty() ? "leave it out: none has any" : did_you_mean(name, names);
}

std::string KnownOptions::sections_like(std::string_view name) const {
  std::vector<std::string_view> names;
  std::string list;
  for (const Section& section : sections_) {
    names.push_back(section.name);
    list += (list.empty() ? "" : ", ") + std::string(section.name);
  }
  if (names.empty()) return "";
  const std::string_view close = nearest(name, names);
  if (edit_distance(name, close) * 2 <= close.size()) return "did you mean [" + std::string(close) + "]?";
  return "it has: " + list;
}

} // namespace heddle::base
