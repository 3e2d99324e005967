// What can be set of shared memory alone: [shm] in an option file, HEDDLE_SHM_<NAME>, "shm.<name>" in code.
#pragma once

#include "base/section.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace heddle::translators {

// Whether one process may read another's memory through the kernel.
enum class CrossMemory : std::uint8_t {
  automatic, // tried at start; where it is refused, large messages are copied through the rings, and that is said
  require,   // refused = an error at start
  off,       // never used
};

namespace shm {

inline constexpr std::array<std::string_view, 3> kCrossMemoryWords{"automatic", "require", "off"};
inline constexpr base::SectionOption kCrossMemory{.name = "cross_memory",
                                                  .kind = base::SectionOption::Kind::choice,
                                                  .initial = "automatic",
                                                  .expected = "automatic, require or off",
                                                  .meaning = "read a peer's memory through the kernel",
                                                  .words = kCrossMemoryWords};

inline constexpr std::array kOptions{kCrossMemory};

} // namespace shm
} // namespace heddle::translators
