// Every name that can be set, and the one that somebody probably meant. Private to options.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option_table.hpp"
#include "base/section.hpp"

namespace heddle::base {

inline constexpr std::string_view kVariablePrefix = "HEDDLE_";

// An option of the table, or an option of a section.
struct KnownOption {
  std::string name;                          // eager_limit, shm.cross_memory
  std::string variable;                      // HEDDLE_EAGER_LIMIT, HEDDLE_SHM_CROSS_MEMORY
  const OptionRow* row = nullptr;            // either this
  const SectionOption* in_section = nullptr; // or this,
  std::size_t section = 0;                   // of that section

  [[nodiscard]] std::string_view expected() const { return row != nullptr ? row->expected : in_section->expected; }
  [[nodiscard]] std::string_view meaning() const { return row != nullptr ? row->meaning : in_section->meaning; }
  [[nodiscard]] std::string_view unit() const { return row != nullptr ? row->unit : in_section->unit; }
};

class KnownOptions {
 public:
  explicit KnownOptions(std::span<const Section> sections);

  [[nodiscard]] std::span<const KnownOption> all() const { return all_; } // options first
  [[nodiscard]] const KnownOption* find(std::string_view name) const;     // null: there is none
  [[nodiscard]] const KnownOption* find_variable(std::string_view variable) const;
  [[nodiscard]] bool has_section(std::string_view name) const;

  // Remedies for a name that does not exist, in the spelling of the place where it stands.
  [[nodiscard]] std::string variables_like(std::string_view variable) const;
  [[nodiscard]] std::string entries_like(std::string_view name, std::string_view section = {}) const;
  [[nodiscard]] std::string section_options_like(std::string_view name) const;
  [[nodiscard]] std::string sections_like(std::string_view name) const;

 private:
  // One of a section by its name alone: what was written without its section. Null: there is none.
  [[nodiscard]] const KnownOption* find_bare(std::string_view name) const;
  [[nodiscard]] std::string_view section_of(const KnownOption& option) const { return sections_[option.section].name; }

  std::span<const Section> sections_;
  std::vector<KnownOption> all_;
};

} // namespace heddle::base
