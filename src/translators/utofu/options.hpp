// What can be set of uTofu alone: [utofu] in an option file, HEDDLE_UTOFU_<NAME>, "utofu.<name>" in code.
#pragma once

#include "base/section.hpp"

#include <array>

namespace heddle::translators::utofu {

inline constexpr base::SectionOption kLibrary{.name = "library",
                                              .initial = "libtofucom.so",
                                              .expected = "a file, or a name that the system's loader finds",
                                              .meaning = "the library of the network, loaded when it is needed"};
inline constexpr base::SectionOption kEngines{.name = "engines",
                                              .kind = base::SectionOption::Kind::number,
                                              .initial = "6",
                                              .expected = "1 to 6",
                                              .meaning = "network interfaces used, as far as there are so many",
                                              .least = 1,
                                              .most = 6};

inline constexpr std::array kOptions{kLibrary, kEngines};

} // namespace heddle::translators::utofu
