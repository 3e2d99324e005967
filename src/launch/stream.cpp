#include "launch/stream.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace heddle::launch {

namespace {

constexpr std::size_t kAtOnce = 4096; // so much a pipe that is ready takes whole
constexpr std::chrono::seconds kStuckFor{2};

} // namespace

Stream::Stream(int descriptor) : descriptor_(descriptor) {
  struct stat kind{};
  shared_ = ::fstat(descriptor, &kind) == 0 && (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode));
}

// The descriptor is not told never to wait: it is shared with programs that did not ask for that.
std::ptrdiff_t Stream::write_some(std::string_view text) const {
  if (shared_) {
    const iovec piece{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    const ssize_t count = ::pwritev2(descriptor_, &piece, 1, -1, RWF_NOWAIT);
    if (count >= 0 || errno != EOPNOTSUPP) return count; // a system before 6.4 does not know it of pipes
  }
  return ::write(descriptor_, text.data(), text.size());
}

void Stream::write(int wait_ms) {
  std::size_t written = 0;
  while (written < text_.size() && !closed_) {
    pollfd entry{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&entry, 1, wait_ms);
    if (ready == 0) break;
    if (ready < 0) continue;
    const auto count = write_some(std::string_view(text_).substr(written, kAtOnce));
    if (count > 0)
      written += static_cast<std::size_t>(count);
    else if (count < 0 && errno == EAGAIN)
      break;
    else if (count < 0 && errno != EINTR) {
      closed_ = true;
      if (errno != EPIPE) problem_ = errno;
    }
  }
  text_.erase(0, closed_ ? text_.size() : written);
  if (written > 0 || text_.empty() || stuck_since_ == base::Deadline{})
    stuck_since_ = text_.empty() ? base::Deadline{} : base::Clock::now();
}

void Stream::give_up_if_stuck() {
  if (text_.empty() || base::Clock::now() - stuck_since_ < kStuckFor) return;
  closed_ = true;
  text_.clear();
}

} // namespace heddle::launch
