#include "base/standard_descriptors.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace heddle::base {

void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    const int access = number == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (const int got = ::open("/dev/null", access | O_CLOEXEC); got != number && got >= 0) ::close(got);
  }
}

} // namespace heddle::base
