// The machines of a job, as the user names them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/error.hpp"

namespace heddle::launch {

struct Host {
  std::string name;
  std::uint32_t processes = 1;

  // This machine, which needs no remote shell.
  [[nodiscard]] bool is_here() const;
};

// "a:2,b:2,c": so many processes each, 1 where nothing is said. An IPv6 address stands in brackets. bad_argument otherwise.
Result<std::vector<Host>> parse_hosts(std::string_view text);
// A file with one of these to a line, "a:2" or "a slots=2" as other launchers write it; # begins a comment. bad_argument names the line.
Result<std::vector<Host>> read_host_file(const std::string& path);

std::uint32_t processes_of(const std::vector<Host>& hosts);

} // namespace heddle::launch
