// --seed of the commands that draw lots.
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace heddle::tool {

// Takes a seed as it is written: CLI11 by itself clips what is too large, wraps what is negative and reads a leading zero as
// octal.
inline void add_seed_option(CLI::App& command, std::uint64_t& seed, const std::string& meaning) {
  const auto check = [](std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size())
      return "'" + text.substr(0, 80) + "' is no seed: expected a whole number up to 18446744073709551615";
    text = std::to_string(value);
    return "";
  };
  command.add_option("--seed", seed, meaning)
      ->capture_default_str()
      ->type_name("S")
      ->transform(CLI::Validator(check, "", "seed"));
}

} // namespace heddle::tool
