// A file of puts as a pattern of stages, for `heddle route`.
#pragma once

#include "routing/pattern.hpp"
#include "traffic/put_file.hpp"

namespace heddle::tool {

// Nodes are those of the job, from 0. Puts go in the stages that the file gives them; where it gives none, in as few as there can be: as
// many as one node has puts to send, or to receive. bad_argument names line and column.
Result<routing::Pattern> pattern_of_puts(const std::vector<traffic::Put>& puts, std::uint32_t nodes);

} // namespace heddle::tool
