// Sizes as people write them: `8`, `64KiB`, `1MiB`. Shared by options, option file and command line.
// Not here: decimal units (KB, MB), which are refused because nobody agrees on what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"

namespace heddle::base {

// Digits with an optional KiB, MiB, GiB or TiB directly after. Error bad_argument says what was expected.
Result<std::uint64_t> parse_size(std::string_view text);

// Sizes separated by commas: `8,64KiB`. Never empty on success.
Result<std::vector<std::uint64_t>> parse_size_list(std::string_view text);

// The shortest exact form that parse_size reads back: 65536 -> "64KiB", 1000 -> "1000".
std::string print_size(std::uint64_t bytes);

} // namespace heddle::base
