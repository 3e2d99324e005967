// What the programs of the job tests share: joining, one line at a time on stdout, and how much to do.
#pragma once

#include "tests/traffic/slowdown.hpp"

#include <heddle/heddle.hpp>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <type_traits>

namespace heddle::tests {

// One write per line, so that the lines of many processes do not mix.
inline void say(const std::string& text) {
  const std::string line = text + "\n";
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

// Ends this process at once, without leaving the job, with the reason.
[[noreturn]] inline void give_up(const std::string& why) {
  say("FAILED: " + why);
  ::_exit(1);
}
inline void demand(bool condition, const std::string& what) {
  if (!condition) give_up(what);
}
template <typename T>
T demand(Result<T> result, const std::string& what) {
  if (!result) give_up(what + ": " + result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The same clock in all processes of the machine.
inline std::uint64_t machine_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

inline std::uint64_t figure(const Context& context, std::string_view name) {
  for (const auto& figure : context.figures())
    if (figure.name == name) return figure.value;
  give_up("no figure is called " + std::string(name));
}

inline std::uint64_t number(const char* text) {
  return std::strtoull(text, nullptr, 0);
}

} // namespace heddle::tests
