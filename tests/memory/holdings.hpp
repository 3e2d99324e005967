// What a process has of the system: memory, descriptors, segments.
#pragma once

#include "tests/memory/failing_new.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

namespace heddle::tests {

// Equal before and after something that keeps nothing.
struct Holdings {
  std::int64_t blocks = 0;
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t mappings = 0;
  friend bool operator==(const Holdings&, const Holdings&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Holdings& all) {
    return out << all.blocks << " blocks, " << all.descriptors << " descriptors, " << all.mappings << " segments";
  }
};
inline Holdings holdings() {
  Holdings all;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++all.descriptors;
  {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("memfd:") != std::string::npos) ++all.mappings;
  }
  all.blocks = blocks_in_use;
  return all;
}

} // namespace heddle::tests
