// Files that users name: topologies, patterns, option files. A wrong name (a folder, a device, something endless) is an error of
// one line, before it costs memory or time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/error.hpp"

namespace heddle::base {

struct TextFile {
  std::string_view what;  // for messages: "option file"
  std::uint64_t most = 0; // bytes; a larger file is refused after reading so many
  bool pipes = false;     // a pipe that somebody writes to is read to its end; otherwise regular files only
};

// The whole file. Error bad_argument names it, with the system's code where the system refused.
Result<std::string> read_text_file(const std::string& path, const TextFile& file);

} // namespace heddle::base
