// In this test program a file that is mapped a second time is found at the same address: TSan goes by addresses, and would
// take what two threads write through two mappings for two memories.
#pragma once

namespace heddle::tests {

// How often that happened so far.
int mappings_shared();

} // namespace heddle::tests
