// A store without a launcher of ours: where a job was started by somebody else, its first process starts a keeper, a process of its own that
// serves the built-in store. Nobody waits for the job's processes there, so that the end of a connection is the end of its process.
#pragma once

#include "base/clock.hpp"
#include "store/server.hpp"

#include <heddle/error.hpp>

#include <string>

namespace heddle::store {

// The address at which it serves; by Server's rules, and config.log is not used: a keeper has nobody to talk to.
// It is neither a child nor of the session of this process, holds none of its descriptors, and outlives it: whoever is left learns of its
// death. It ends by itself when this process, rank 0, has ended and nobody is connected any more. It begins as a copy of this process: memory that
// is written later exists twice until then, so programs join before they fill theirs.
Result<std::string> start_keeper(const Server::Config& config, base::Deadline deadline);

} // namespace heddle::store
