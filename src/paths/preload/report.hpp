// What is counted, and what is said of it: one line at the end of a process, and one for what is wrong.
// HEDDLE_PATHS_REPORT says who speaks: `first` (the default), ranks 0 and processes that have no rank; `all`; `none`.
#pragma once

#include "paths/preload/own_plan.hpp"

#include <cstdint>

namespace heddle::paths {

// Remembers who speaks, and what standard error is.
void begin_report();

void count_connection(Found found);
void count_address(Found found);
// A connection that was made past libibverbs, by a command to the adapter.
void count_past_verbs();

// At once, in one line: the parts one after the other.
void complain(const char* first, const char* second, const char* third = "");

// The line at the end. Nothing where the process has never had to do with InfiniBand.
void end_report();

} // namespace heddle::paths
