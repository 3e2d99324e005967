#include "job/registry.hpp"

#include <array>
#include <cstddef>

namespace heddle::translators {

// One line per translator, in order of preference. Naming a class here declares it, so no header is needed; its folder says
// the rest (register_entry.hpp), and a class whose folder does not is an error of the linker.
// clang-format off
static constexpr Entry (*kAll[])() = {
    entry_of<class Shm>,
#ifdef HEDDLE_HAS_VERBS
    entry_of<class Verbs>,
#endif
    entry_of<class Tcp>,
    entry_of<class Utofu>,
    entry_of<class Ofi>,
};
// clang-format on

} // namespace heddle::translators

namespace heddle::job {

std::span<const translators::Entry> registry() {
  static const auto kEntries = [] {
    std::array<translators::Entry, std::size(translators::kAll)> entries{};
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = translators::kAll[i]();
    return entries;
  }();
  return kEntries;
}

std::span<const base::Section> sections() {
  static const auto kSections = [] {
    std::array<base::Section, std::size(translators::kAll)> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = {.name = registry()[i].name, .options = registry()[i].options};
    return all;
  }();
  return kSections;
}

} // namespace heddle::job
