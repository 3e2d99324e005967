// The list of translators: the one place that names them all.
#pragma once

#include "translators/entry.hpp"

#include <span>

namespace heddle::context {

// In order of preference.
std::span<const translators::Entry> registry();

} // namespace heddle::context
