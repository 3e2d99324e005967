// The list of translators: the one place that names them all.
#pragma once

#include "base/section.hpp"
#include "translators/entry.hpp"

#include <span>

namespace heddle::job {

// In order of preference.
std::span<const translators::Entry> registry();

// What can be set of each: a section for every translator, in the same order.
std::span<const base::Section> sections();

} // namespace heddle::job
