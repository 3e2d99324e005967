// Every option resolved: from code, environment, file and defaults to plain values, each with its origin.
// Not here: reading TOML (src/options_file), so that this room needs the standard library only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/section.hpp"
#include "heddle/error.hpp"
#include "heddle/options.hpp"

namespace heddle::base {

// Options (include/heddle/options.hpp) with nothing left open. The initial values are the defaults.
struct Settings {
  std::string file;
  bool single = false;
  std::string store;
  std::string translators = "automatic";
  std::uint64_t eager_limit = 64 << 10;       // up to here two copies, overlapped, beat one through the kernel
  std::uint64_t ring_bytes = 512 << 10;       // holds 8 of the largest eager messages, and stays in a level-2 cache
  std::uint64_t ring_memory = 64 << 20;       // 128 rings of the default size
  std::uint64_t unsolicited_memory = 1 << 30; // a bound for floods, far above what a program that keeps up holds
  std::uint64_t chunk_bytes = 128 << 10;      // large enough to hide the cost of one kernel call per chunk
  bool assist = true;
  Waiting waiting = Waiting::automatic;
  std::uint64_t spin_us = 2000;
  std::uint64_t watchdog_s = 10;
  std::uint64_t join_timeout_s = 60;
  std::uint64_t flight_records = 1024;
  LogLevel log_level = LogLevel::warning;
  std::string topology;
  std::string paths = "colouring"; // the only method without hot spots whatever the set of nodes
  std::string schedule = "planned";
  bool announce = false;

  friend bool operator==(const Settings&, const Settings&) = default;
};

// What option `paths` may name, in the order of routing::Method.
inline constexpr std::array<std::string_view, 4> kPathMethods{"conventional", "node", "pair", "colouring"};

// What option `schedule` may name.
inline constexpr std::string_view kPlanned = "planned";
inline constexpr std::array<std::string_view, 2> kSchedules{kPlanned, "immediate"};

// One option as `heddle info` shows it. The views point to static text.
struct ResolvedOption {
  std::string name; // SECTION.NAME where it belongs to a section
  std::string value;
  std::string origin; // "code", "NAME:LINE" of the file, "HEDDLE_X" or "default"
  std::string_view unit;
  std::string_view meaning;
};

struct ResolvedOptions {
  Settings settings;
  std::vector<Values> sections;     // in the order that they were given
  std::vector<ResolvedOption> list; // one per option, in the order of the table, then one per option of each section

  // The values of a section, which must be one of those given.
  [[nodiscard]] const Values& section(std::string_view name) const;
};

// One `name = value` of an option file, its value as text in the form the environment uses. Without a name, the line that
// begins a section.
struct FileEntry {
  std::string name;
  std::string value;
  std::uint64_t line = 0;
  std::string section{}; // empty before the first
};
using FileReader = std::function<Result<std::vector<FileEntry>>(const std::string& path)>;

// Code before environment before file before default. An unknown name or a value out of range anywhere, even where a
// stronger origin overrides it, is bad_option with what, where and what was expected. `read` is called at most once; without
// it, naming a file is an error.
Result<ResolvedOptions> resolve(const Options& from_code, const Environment& environment, const FileReader& read = {},
                                std::span<const Section> sections = {});

// Names of all options, in the order of the table.
std::span<const std::string_view> option_names();

// HEDDLE_ variables that launchers set and that are no options.
inline constexpr std::string_view kLauncherVariables[] = {"HEDDLE_RANK", "HEDDLE_SIZE", "HEDDLE_JOB", "HEDDLE_SECRET",
                                                          "HEDDLE_NODE"};

} // namespace heddle::base
