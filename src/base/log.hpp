// Messages for people, one line each, to a sink that the owner chooses; stderr unless told otherwise.
// Not here: global state (the context owns its Log and hands it on) and stdout, which belongs to the application.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "heddle/error.hpp"
#include "heddle/options.hpp"

namespace heddle::base {

// A value: copies share the sink. Writing allocates; never on the hot path. Safe from several threads if the sink is.
class Log {
 public:
  // Takes one complete line with its newline.
  using Sink = std::function<void(std::string_view line)>;

  // Lines begin with "heddle[RANK]: ", or "heddle: " where rank is kNoPeer. An empty sink means stderr.
  explicit Log(LogLevel level = LogLevel::warning, std::int64_t rank = kNoPeer, Sink sink = {});

  // True when a message of that level is written; ask before building an expensive text.
  [[nodiscard]] bool enabled(LogLevel level) const { return level != LogLevel::silent && level <= level_; }

  void error(std::string_view text) const { write(LogLevel::error, text); }
  void warning(std::string_view text) const { write(LogLevel::warning, text); }
  void info(std::string_view text) const { write(LogLevel::info, text); }
  void debug(std::string_view text) const { write(LogLevel::debug, text); }

  // Newlines inside text become spaces; the line is written with one call of the sink.
  void write(LogLevel level, std::string_view text) const;

  // Written at every level but silent, without the word for the level: the one line that `announce` asks for.
  void announce(std::string_view text) const;

 private:
  void send(std::string line) const;

  LogLevel level_;
  std::string prefix_;
  Sink sink_;
};

// Lower-case name of a level: "warning".
std::string_view to_string(LogLevel level);

} // namespace heddle::base
