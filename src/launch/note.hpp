// What rank 0 leaves on the launcher's board for the others: where the job's store is, or why there is none. Pure.
#pragma once

#include "auth/secret.hpp"
#include "store/client.hpp"

#include <heddle/error.hpp>

#include <optional>
#include <string>

namespace heddle::launch {

// The secret goes into the note unless `given`: then all processes are to have it by HEDDLE_SECRET, and the note says that alone.
std::string note_of(const store::Client::Target& target, bool given);
std::string note_of(const Error& why_there_is_none);

// Job, address and secret of the store. An error where there is none, where the note is spoilt, and where HEDDLE_SECRET is set in this
// process and not in rank 0, or the other way round: `given` is what it says here.
Result<store::Client::Target> read_note(const store::Bytes& note, const std::optional<auth::Secret>& given);

} // namespace heddle::launch
