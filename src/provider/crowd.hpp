// Whether the processes of an MPI job on this machine are more than the processors that they may use.
#pragma once

namespace heddle::provider {

// Of the job that this process belongs to, whose launcher has set `variable` for each of its processes.
int processors_of_job(const char* variable);
// Whoever polls in vain gives its core away at once, then.
bool is_crowded();

} // namespace heddle::provider
