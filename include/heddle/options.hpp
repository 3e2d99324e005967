// Every option Heddle has, as one plain struct: set in code, in a TOML file, or as HEDDLE_<NAME> in the environment.
// Precedence: code first, then the environment, then the file; nothing else is read anywhere.
// Not here: how they are parsed (src/base/options.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle {

// How a process waits when nothing has arrived.
enum class Waiting : std::uint8_t {
  automatic, // spin while every process of the node can have a core, otherwise yield and then sleep
  spin,      // never give the core away
  yield,     // spin shortly, then yield, never sleep
  sleep,     // spin shortly, yield shortly, then sleep until woken
};

enum class LogLevel : std::uint8_t { silent, error, warning, info, debug };

// A setting that one translator has for itself, in code: {"shm.cross_memory", "off"}. docs/options.md lists them.
struct TranslatorOption {
  std::string name;  // TRANSLATOR.NAME
  std::string value; // as in the environment
};

// A member left empty takes its value from the environment, the file or the default, in that order.
// The default, the unit and the range of each are in docs/options.md and shown by `heddle info`.
struct Options {
  std::optional<std::string> file;                 // TOML file with further options; also HEDDLE_FILE
  std::optional<bool> single;                      // join as a job of one process when no launcher is there
  std::optional<std::string> store;                // address of the key-value store, set by the launcher: unix:PATH
  std::optional<std::string> translators;          // comma-separated names that may be used, in order of preference
  std::optional<std::uint64_t> eager_limit;        // bytes: messages up to this size travel in one ring record
  std::optional<std::uint64_t> ring_bytes;         // bytes of one ring (one direction, one peer)
  std::optional<std::uint64_t> ring_memory;        // bytes of all rings of this process together
  std::optional<std::uint64_t> unsolicited_memory; // bytes of unsolicited messages that are held or being fetched
  std::optional<std::uint64_t> chunk_bytes;        // bytes moved at a time in a rendezvous
  std::optional<bool> assist; // let the sender copy part of a large message where the processor copies
  std::optional<Waiting> waiting;
  std::optional<std::uint64_t> spin_us;        // microseconds of spinning before the core is given away
  std::optional<std::uint64_t> watchdog_s;     // seconds without progress before the watchdog reports; 0 = never
  std::optional<std::uint64_t> join_timeout_s; // seconds that joining may take
  std::optional<std::uint64_t> flight_records; // entries that the flight recorder keeps
  std::optional<LogLevel> log_level;
  std::optional<std::string>
      topology;                     // the fabric that paths are planned on: a tree's name, or a file of ibnetdiscover
  std::optional<std::string> paths; // the method that plans them
  std::optional<std::string> schedule; // whose engine is whose, where a network has several: planned or immediate
  std::optional<bool> announce;        // rank 0 prints one line at start: which translator serves whom, and why
  std::vector<TranslatorOption> translator_options{}; // of two with one name the later counts
};

} // namespace heddle
#pragma GCC visibility pop
