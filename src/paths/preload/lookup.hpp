// dlsym and dlvsym, in front of which this library stands as well: programs that open libibverbs themselves ask them for its functions.
#pragma once

namespace heddle::paths::lookup {

// The dlvsym that stands behind ours.
void* versioned(void* handle, const char* name, const char* version);

// What a program is given in place of a function that it asks for by name.
struct Replacement {
  const char* name;
  const char* version; // that a program gets without naming one
  void* own;
};

// All of this library's, ended by one without a name (calls.cpp).
extern const Replacement replacements[];

} // namespace heddle::paths::lookup
