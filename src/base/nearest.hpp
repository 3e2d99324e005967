// The name somebody probably meant: for messages about unknown options, commands and translators.
#pragma once

#include <span>
#include <string_view>

namespace heddle::base {

// How many single-character insertions, deletions, replacements and swaps of neighbours turn one into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The known name with the smallest edit distance, the first of equals; empty only when there are no names.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

} // namespace heddle::base
