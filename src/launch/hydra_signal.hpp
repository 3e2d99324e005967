// Hydra, told not to end a job with its first process (-disable-auto-cleanup), sends SIGUSR1 to those that are left. Who does not expect it
// dies of it.
#pragma once

namespace heddle::launch {

// From now on SIGUSR1 does nothing to this process, unless the program has said already what it does. For as long as the process lives: it may
// come after the job was left, too, and Hydra ends all on a machine where one process dies of a signal. Programs that this one starts are not
// touched: they begin as ever.
void bear_hydra_signal();

} // namespace heddle::launch
