#include "base/log.hpp"

#include <unistd.h>

#include <algorithm>

namespace heddle::base {

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::silent: return "silent";
    case LogLevel::error: return "error";
    case LogLevel::warning: return "warning";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
  }
  return "unknown";
}

Log::Log(LogLevel level, std::int64_t rank, Sink sink)
    : level_(level),
      prefix_(rank == kNoPeer ? "heddle: " : "heddle[" + std::to_string(rank) + "]: "),
      sink_(std::move(sink)) {}

void Log::write(LogLevel level, std::string_view text) const {
  if (!enabled(level)) return;
  send(std::string(to_string(level)).append(": ").append(text));
}

void Log::announce(std::string_view text) const {
  if (level_ != LogLevel::silent) send(std::string(text));
}

void Log::send(std::string line) const {
  std::ranges::replace(line, '\n', ' ');
  line.insert(0, prefix_).push_back('\n');
  if (sink_) {
    sink_(line);
    return;
  }
  // One write per line keeps lines of many processes whole; a closed stderr is no reason to fail.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace heddle::base
