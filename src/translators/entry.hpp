// How the list of translators (src/job/registry.cpp) knows one without including it: a class is named there, and the
// class's own folder says the rest with register_entry.hpp.
#pragma once

#include "auth/secret.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "ir/translator.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace heddle::translators {

// What a translator is made from.
struct TranslatorSetup {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint64_t uid =
      0; // in an open world, where processes find each other by themselves: this one's unique id. 0: in a job
  std::uint64_t node = 0;               // this machine: equal for processes that share its memory
  std::optional<auth::Secret> secret{}; // what all processes of the job know; none: there is nothing to tell them by
  const base::Settings* settings = nullptr;
  const base::Values* own = nullptr; // of the options that it has declared
  base::Log log{};
};

struct Entry {
  std::string_view name;  // as in the option `translators`
  std::string_view reach; // who can be reached with it, for people
  // What can be set of it alone: [NAME] in an option file, HEDDLE_NAME_..., docs/options.md.
  std::span<const base::SectionOption> options;
  // Fails with the reason and the remedy where this machine cannot use it.
  Result<std::unique_ptr<ir::Translator>> (*make)(const TranslatorSetup& setup);
};

// Defined in register_entry.hpp, instantiated in the folder of the class.
template <typename Translator>
Entry entry_of();

} // namespace heddle::translators
