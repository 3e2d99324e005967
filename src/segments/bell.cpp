#include "segments/bell.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace heddle::segments {

Result<Bell> Bell::create() {
  std::array<int, 2> ends{};
  struct stat status{};
  Bell bell;
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) == 0) {
    bell.reading_ = base::Descriptor(ends[0]);
    bell.writing_ = base::Descriptor(ends[1]);
  }
  if (!bell.reading_.open() || ::fstat(ends[1], &status) != 0)
    return std::unexpected(Error{.code = ErrorCode::system_failed,
                                 .fact = "cannot create a pipe to sleep on",
                                 .remedy = "raise the limit on open files (ulimit -n)",
                                 .system_code = errno});
  bell.name_ = {.descriptor = ends[1], .inode = status.st_ino};
  return bell;
}

void Bell::quiet() const {
  std::array<char, 64> rung{};
  while (::read(reading_.number(), rung.data(), rung.size()) == static_cast<ssize_t>(rung.size())) {
  }
}

void PeerBell::ring(std::int32_t process, const BellName& name) {
  if (!writing_.open()) {
    std::array<char, 64> path{}; // no memory is needed, since none may be left
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", process, name.descriptor);
    // For reading, too: ringing when the owner has gone is no broken pipe then.
    base::Descriptor found(::open(path.data(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    // The number may be another file's by now.
    if (!found.open() || ::fstat(found.number(), &status) != 0 || !S_ISFIFO(status.st_mode) ||
        status.st_ino != name.inode)
      return;
    writing_ = std::move(found);
  }
  constexpr char kRung = 1;
  static_cast<void>(!::write(writing_.number(), &kRung, 1)); // a pipe that is full has been rung
}

} // namespace heddle::segments
