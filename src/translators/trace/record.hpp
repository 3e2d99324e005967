// One line of a trace: a command that a translator took, or an event that it gave.
#pragma once

#include "ir/command.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::translators {

struct TraceRecord {
  enum class Kind : std::uint8_t { command, event };

  std::uint64_t sequence = 0; // counts commands and events together, from 0
  std::uint64_t poll = 0;     // command: calls of poll before it; event: the call that gave it, from 1
  Kind kind{};
  ir::Peer peer{};
  std::string text; // as src/ir/text.hpp writes it
};

// "12 @40 > put peer=3 ..." for a command, "13 @41 < completed peer=3 ..." for an event.
std::string to_text(const TraceRecord& record);

// The whole of a trace, one record in each line. Fails with bad_argument that names the line: a record that cannot be
// read, a sequence number that is not the next, a poll number that goes back.
Result<std::vector<TraceRecord>> parse_trace(std::string_view text);

} // namespace heddle::translators
