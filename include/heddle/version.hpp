// Which Heddle this is: of these headers as numbers, for #if, and of the library that a program runs with. The build takes its
// version from here. Before 1.0 every new minor version may change what is declared in these headers, so the name of the shared
// library has it: libheddle.so.0.1.
#pragma once

#include <string_view>

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

#pragma GCC visibility push(default)
namespace heddle {

// "0.1.0", of the library. The numbers above are those that the program was compiled with.
[[nodiscard]] std::string_view version();

} // namespace heddle
#pragma GCC visibility pop
