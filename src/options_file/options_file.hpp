// Option files: TOML, one `name = value` on a line for each option, and sections `[name]` for those of translators. The one
// place that knows TOML.
// Read by hand: options need neither nested tables nor lists, and a library for all of TOML ended the program on some texts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"

namespace heddle::options_file {

// The entries of a TOML text in the order they stand, one without a name where a section begins; `path` is only for messages.
// Values may be strings on one line, integers and booleans; anything else is bad_option with path and line.
Result<std::vector<base::FileEntry>> parse(std::string_view text, const std::string& path);

// Reads and parses a file. Files above 1 MiB are refused.
Result<std::vector<base::FileEntry>> read(const std::string& path);

// base::resolve with option files: what the context calls.
Result<base::ResolvedOptions> resolve_with_file(const Options& from_code, const base::Environment& environment,
                                                std::span<const base::Section> sections = {});

} // namespace heddle::options_file
