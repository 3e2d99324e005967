// How far a command is that takes long: on stderr, so that results stay alone on stdout, and not in the first two seconds. On a
// terminal one line that is written over, elsewhere a line every ten seconds.
#pragma once

#include "base/clock.hpp"

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::tool {

class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;

  static constexpr std::uint64_t kSecond = 1'000'000'000;
  static constexpr std::uint64_t kSilence = 2 * kSecond;     // what is over by then needs no word
  static constexpr std::uint64_t kRefreshing = kSecond / 10; // of the line on a terminal
  static constexpr std::uint64_t kBetweenLines = 10 * kSecond;

  // Times are nanoseconds since any fixed moment; `command` begins every line.
  Progress(std::string command, bool terminal, std::uint64_t now, Sink sink)
      : command_(std::move(command)), terminal_(terminal), last_(now), sink_(std::move(sink)) {}
  // On this process's stderr, from now on.
  explicit Progress(std::string command)
      : Progress(std::move(command), ::isatty(STDERR_FILENO) == 1, base::steady_ns(), [](std::string_view text) {
          [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
        }) {}
  ~Progress() { wipe(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What is being done. Most calls do nothing; never within what is measured.
  void at(std::string_view what, std::uint64_t now = base::steady_ns()) {
    const std::uint64_t pause = !terminal_ && told_ ? kBetweenLines : told_ ? kRefreshing : kSilence;
    if (now - last_ < pause) return;
    last_ = now;
    told_ = true;
    const std::string line = command_ + ": " + std::string(what);
    sink_(terminal_ ? "\r\x1b[K" + line : line + "\n");
    on_screen_ = terminal_;
  }
  // Takes the line from the screen, before results are printed.
  void wipe() {
    if (std::exchange(on_screen_, false)) sink_("\r\x1b[K");
  }

 private:
  std::string command_;
  bool terminal_;
  bool told_ = false;
  bool on_screen_ = false;
  std::uint64_t last_;
  Sink sink_;
};

} // namespace heddle::tool
