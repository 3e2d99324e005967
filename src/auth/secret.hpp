// What the processes of a job have in common and nobody else knows.
#pragma once

#include "base/environment.hpp"

#include <heddle/error.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::auth {

inline constexpr std::string_view kSecretVariable = "HEDDLE_SECRET";

// From the system's random source. Any thread may.
void draw_randomly(std::span<std::byte> bytes);

struct Secret {
  std::array<std::byte, 32> bytes{}; // all zero: none, everybody knows it

  static Secret draw();
  // 64 hexadecimal digits; bad_option otherwise, and what was given is not repeated in the message.
  static Result<Secret> parse(std::string_view text);
  // HEDDLE_SECRET; nothing where it is not set.
  static Result<std::optional<Secret>> of(const base::Environment& environment);

  [[nodiscard]] std::string text() const;

  // 64 hexadecimal digits that only who knows the secret can make of that text.
  [[nodiscard]] std::string sign(std::string_view text) const;
};

} // namespace heddle::auth
