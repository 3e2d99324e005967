#include "progress/lookout.hpp"

#include <new>
#include <string>

namespace heddle::progress {

void Lookout::look(std::uint64_t now_ns) try {
  if (!config_.looks || now_ns - last_look_ns_ < kInterval) return;
  last_look_ns_ = now_ns;
  watchdog_.look(now_ns);
  warn_of_refused();
  news_.look(now_ns);
} catch (const std::bad_alloc&) { // the next look has another try
}

void Lookout::warn_of_refused() {
  const std::uint64_t refused = means_.work.refused();
  if (refused == refused_seen_) return;
  means_.log.warning(
      std::to_string(refused - refused_seen_) +
      " unsolicited messages were refused for lack of memory: their senders are told; option unsolicited_memory is " +
      std::to_string(config_.unsolicited_memory) + " bytes");
  refused_seen_ = refused;
}

} // namespace heddle::progress
