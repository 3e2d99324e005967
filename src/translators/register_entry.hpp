// For the .cpp of a translator that the registry lists: `template Entry entry_of<Name>();`.
// The class has `static constexpr std::string_view kName, kReach` and a static `make(const TranslatorSetup&)`; where it has options of
// its own, also `static constexpr std::span<const base::SectionOption> kOptions`, declared in options.hpp of its folder.
#pragma once

#include "translators/entry.hpp"

namespace heddle::translators {

template <typename Translator>
Entry entry_of() {
  Entry entry{.name = Translator::kName, .reach = Translator::kReach, .options = {}, .make = &Translator::make};
  if constexpr (requires { Translator::kOptions; }) entry.options = Translator::kOptions;
  return entry;
}

} // namespace heddle::translators
