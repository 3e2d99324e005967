#include <heddle/version.hpp>

#define HEDDLE_TEXT_OF(number) #number
#define HEDDLE_TEXT(number) HEDDLE_TEXT_OF(number)

namespace heddle {

std::string_view version() {
  return HEDDLE_TEXT(HEDDLE_VERSION_MAJOR) "." HEDDLE_TEXT(HEDDLE_VERSION_MINOR) "." HEDDLE_TEXT(HEDDLE_VERSION_PATCH);
}

} // namespace heddle
