// What one-sided operations say to other engines: asking for an area, and what is told of it.
#pragma once

#include <cstdint>

namespace heddle::engine {

// area_ask: the peer wants to use an area of this process.
struct AreaAsk {
  std::uint64_t id = 0;
};
// area_grant: the answer. code is an ErrorCode; the rest counts when it is ok.
struct AreaGrant {
  std::uint64_t id = 0;
  std::uint64_t code = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t atomics = 0;
};
// area_revoked: an area that was granted is closed.
struct AreaRevoked {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
};
// area_notice: a push has landed. The key shows that it went to the area that is open now.
struct AreaNotice {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t label = 0;
  std::uint64_t bytes = 0;
};
// area_scatter: what follows is, again and again, a ScatterRun and its bytes.
struct AreaScatter {
  std::uint64_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;   // that the runs count from
  std::uint64_t transfer = 0; // comes back
};
struct ScatterRun {
  std::uint32_t at = 0;
  std::uint32_t bytes = 0;
};
// area_scattered: the answer. code is an ErrorCode.
struct AreaScattered {
  std::uint64_t transfer = 0;
  std::uint64_t code = 0;
};
// lock_passed: the receiver's ticket is served.
struct LockPassed {
  std::uint64_t home = 0;
  std::uint64_t id = 0;
  std::uint64_t ticket = 0;
};

} // namespace heddle::engine
