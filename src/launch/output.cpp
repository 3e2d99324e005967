#include "launch/output.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "net/frames.hpp"

namespace heddle::launch {

namespace {

constexpr std::size_t kLongestLine = 64 << 10; // of a longer one parts are written
constexpr std::size_t kAtOnce = 4096;          // so much a pipe that is ready takes without waiting
constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr std::chrono::seconds kStuckFor{2}; // with who takes nothing, where the job is to end

// By a signal that has not been taken yet: they are blocked while a job runs.
bool is_asked_to_end() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  return ::sigismember(&pending, SIGINT) == 1 || ::sigismember(&pending, SIGTERM) == 1 ||
         ::sigismember(&pending, SIGHUP) == 1;
}

} // namespace

void Output::add(std::uint32_t rank, std::uint8_t stream, std::span<const std::byte> bytes) {
  if (stream < 1 || stream > 2) return;
  std::string& begun = begun_[{rank, stream}];
  begun += net::as_characters(bytes);
  std::size_t from = 0;
  for (std::size_t end = 0; (end = begun.find('\n', from)) != std::string::npos; from = end + 1)
    put(rank, stream, std::string_view(begun).substr(from, end + 1 - from));
  begun.erase(0, from);
  while (begun.size() > kLongestLine) {
    put(rank, stream, std::string_view(begun).substr(0, kLongestLine));
    begun.erase(0, kLongestLine);
  }
}

void Output::end(std::uint32_t rank) {
  for (const std::uint8_t stream : {std::uint8_t{1}, std::uint8_t{2}}) {
    const auto found = begun_.find({rank, stream});
    if (found == begun_.end()) continue;
    if (!found->second.empty()) put(rank, stream, found->second + (label_ ? "\n" : ""));
    begun_.erase(found);
  }
}

void Output::put(std::uint32_t rank, std::uint8_t stream, std::string_view line) {
  Stream& to = streams_[stream - 1];
  if (to.closed) return;
  if (label_) to.text += "[" + std::to_string(rank) + "] ";
  to.text += line;
}

void Output::flush() {
  for (Stream& stream : streams_) {
    write(stream, 0);
    if (brief_) give_up_if_stuck(stream);
  }
}

void Output::finish() {
  for (Stream& stream : streams_)
    while (!stream.text.empty()) {
      write(stream, static_cast<int>(kBetweenTries.count()));
      if (brief_ || is_asked_to_end()) give_up_if_stuck(stream);
    }
}

void Output::give_up_if_stuck(Stream& stream) {
  if (stream.text.empty() || base::Clock::now() - stream.stuck_since < kStuckFor) return;
  stream.closed = true;
  stream.text.clear();
}

// The descriptors are shared with others, who did not ask for them not to wait: so they are asked before each part.
void Output::write(Stream& stream, int wait_ms) {
  std::size_t written = 0;
  while (written < stream.text.size() && !stream.closed) {
    pollfd entry{.fd = stream.descriptor, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&entry, 1, wait_ms);
    if (ready == 0) break;
    if (ready < 0) continue;
    const ssize_t count =
        ::write(stream.descriptor, stream.text.data() + written, std::min(kAtOnce, stream.text.size() - written));
    if (count > 0)
      written += static_cast<std::size_t>(count);
    else if (count < 0 && errno == EAGAIN)
      break;
    else if (count < 0 && errno != EINTR)
      stream.closed = true;
  }
  stream.text.erase(0, stream.closed ? stream.text.size() : written);
  if (written > 0 || stream.text.empty() || stream.stuck_since == base::Deadline{})
    stream.stuck_since = stream.text.empty() ? base::Deadline{} : base::Clock::now();
}

} // namespace heddle::launch
