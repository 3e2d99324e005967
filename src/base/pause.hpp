// Between two looks at memory that another core is about to write. Without it the loads of a tight loop are all under way at
// once, take the line from the writer while it is still writing, and are thrown away when it changes.
#pragma once

namespace heddle::base {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace heddle::base
