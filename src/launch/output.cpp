#include "launch/output.hpp"

#include <signal.h>

#include "net/frames.hpp"

namespace heddle::launch {

namespace {

constexpr std::size_t kLongestLine = 64 << 10; // of a longer one parts are written
constexpr std::size_t kMostOfOwn = 4 << 20;    // waiting in all: then no line of the launcher's own is added
constexpr std::chrono::milliseconds kBetweenTries{100};

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
  if (label_) to.add("[" + std::to_string(rank) + "] ");
  to.add(line);
}

void Output::add_own(std::string_view line) {
  if (waiting() <= kMostOfOwn) streams_[1].add(line);
}

void Output::flush() {
  for (Stream& stream : streams_) {
    stream.write();
    if (brief_) stream.give_up_if_stuck();
  }
}

void Output::finish() {
  for (Stream& stream : streams_)
    while (stream.waiting() > 0) {
      stream.write(static_cast<int>(kBetweenTries.count()));
      if (brief_ || is_asked_to_end()) stream.give_up_if_stuck();
    }
}

} // namespace heddle::launch
