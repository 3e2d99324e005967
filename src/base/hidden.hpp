// HEDDLE_HIDDEN stands at the definition of a class that a public header only declares. Public headers declare everything as
// visible outside of the shared library; this takes the class back. Clang knows no such change of mind: there it stays visible,
// which does no harm.
#pragma once

#if defined(__clang__)
#define HEDDLE_HIDDEN
#else
#define HEDDLE_HIDDEN [[gnu::visibility("hidden")]]
#endif
