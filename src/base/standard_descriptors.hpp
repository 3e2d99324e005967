// Descriptors 0 to 2 of a program that was started without them.
#pragma once

namespace heddle::base {

// A descriptor of ours may not become somebody's standard output: what the program prints would go into it. Those of 0 to 2 that are
// closed are taken by something of which nothing can be read (0) or to which nothing can be written (1, 2), so that the program is told what
// it was told before. Programs that it starts find them closed.
void occupy_standard_descriptors();

} // namespace heddle::base
