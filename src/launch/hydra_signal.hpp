// Hydra, told not to end a job with its first process (-disable-auto-cleanup), sends SIGUSR1 to those that are left. Who does not expect it
// dies of it.
#pragma once

namespace heddle::launch {

// From now on SIGUSR1 does nothing to this process, unless the program has said already what it does. Programs that this one starts are
// not touched: they begin as ever.
void bear_hydra_signal();
// As it was before.
void bear_hydra_signal_no_more();

} // namespace heddle::launch
