// For the .cpp of a translator that the registry lists: `template Entry entry_of<Name>();`.
// The class has `static constexpr std::string_view kName, kReach` and a static `make(const Ground&)`.
#pragma once

#include "translators/entry.hpp"

namespace heddle::translators {

template <typename Translator>
Entry entry_of() {
  return {.name = Translator::kName, .reach = Translator::kReach, .make = &Translator::make};
}

} // namespace heddle::translators
