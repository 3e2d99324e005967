// The table of options: name, unit, meaning, how text becomes the value and back. Private to options.cpp and its tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/options.hpp"

namespace heddle::base {

// One option. The functions know the member of Settings (and of Options) that the row stands for.
struct OptionRow {
  std::string_view name;
  std::string_view unit;
  std::string_view expected; // how a value must look, for messages
  std::string_view meaning;
  bool (*assign)(Settings& settings, std::string_view text); // false: text is not as expected, settings unchanged
  bool (*assign_from_code)(Settings& settings, const Options& options, bool& usable); // true: it was set in code
  std::string (*show)(const Settings& settings);
};

// All rows, in the order of include/heddle/options.hpp.
std::span<const OptionRow> option_table();

// A relation between two options that does not hold, as a sentence; empty when all hold.
struct Conflict {
  std::string_view option; // the one to change
  std::string sentence;
  std::string remedy;
};
Conflict find_conflict(const Settings& settings);

} // namespace heddle::base
