// What a network can do. Protocols ask these, never a network's name.
#pragma once

#include <cstdint>

namespace heddle::ir {

struct Capabilities {
  bool announces_writes = false;       // announced puts arrive as events; otherwise the engine polls the memory
  bool announces_reads = false;        // announced gets arrive as events at the process that is read from
  bool orders_puts = false;            // puts to one peer become visible in the order submitted
  bool atomics = false;                // compare_and_swap and fetch_and_add
  bool atomics_with_processor = false; // and they are atomic with respect to this processor's own
  bool connects_itself = false; // makes a connection with each peer that is attached; what is submitted meanwhile waits
  bool atomics_on_any_memory = false; // also on memory that allocate() or allocate_area() did not give
  bool reads_any_memory = false;      // expose() works on memory that allocate() did not give
  bool processor_copies = false; // puts and gets are done by the submitting processor: two at once are twice as fast
  std::uint32_t engines = 1;     // commands that can be under way at once
  std::uint64_t inline_bytes =
      0; // unsignalled puts up to this size are taken at submit, memory free again; a put's head always is
  std::uint64_t largest_transfer = 0; // bytes of one put or get
};

} // namespace heddle::ir
