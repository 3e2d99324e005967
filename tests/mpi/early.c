// Preloaded: asks the process that starts another to end, before it knows that it has done so.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

pid_t fork(void) {
  pid_t (*own)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
  const pid_t parent = getpid(), child = own();
  if (child > 0) kill(parent, SIGTERM);
  return child;
}
