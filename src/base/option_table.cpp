#include "base/option_table.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/range.hpp"

namespace heddle::base {
namespace {

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr std::uint64_t kYear = 366ULL * 24 * 3600; // longer waits in seconds are mistakes

template <typename E>
struct Words;
template <>
struct Words<bool> {
  static constexpr std::array<std::string_view, 2> kNames{"false", "true"};
};
template <>
struct Words<Waiting> {
  static constexpr std::array<std::string_view, 4> kNames{"automatic", "spin", "yield", "sleep"};
};
template <>
struct Words<LogLevel> {
  static constexpr std::array<std::string_view, 5> kNames{"silent", "error", "warning", "info", "debug"};
};

template <typename E>
std::optional<E> read_word(std::string_view text) {
  if constexpr (std::is_same_v<E, bool>) {
    if (text == "1") return true;
    if (text == "0") return false;
  }
  for (std::size_t i = 0; i < Words<E>::kNames.size(); ++i) {
    if (Words<E>::kNames[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

using Text = std::string_view;

// A word: bool or one of the enumerations.
template <auto InOptions, auto InSettings>
constexpr OptionRow word(Text name, Text expected, Text meaning) {
  using E = std::remove_reference_t<decltype(Settings{}.*InSettings)>;
  return {name,
          "",
          expected,
          meaning,
          [](Settings& settings, Text text) {
            const auto value = read_word<E>(text);
            if (value) settings.*InSettings = *value;
            return value.has_value();
          },
          [](Settings& settings, const Options& options, bool& usable) {
            const auto& value = options.*InOptions;
            if (!value) return false;
            usable = static_cast<std::size_t>(*value) < Words<E>::kNames.size();
            settings.*InSettings = *value;
            return true;
          },
          [](const Settings& settings) {
            const auto index = static_cast<std::size_t>(settings.*InSettings);
            return index < Words<E>::kNames.size() ? std::string(Words<E>::kNames[index]) : std::to_string(index);
          }};
}

template <auto InOptions, auto InSettings, Range Allowed>
constexpr OptionRow number(Text name, Text unit, Text expected, Text meaning) {
  return {name,
          unit,
          expected,
          meaning,
          [](Settings& settings, Text text) {
            const auto value = Allowed.read(text);
            if (value) settings.*InSettings = *value;
            return value.has_value();
          },
          [](Settings& settings, const Options& options, bool& usable) {
            const auto& value = options.*InOptions;
            if (!value) return false;
            usable = Allowed.holds(*value);
            settings.*InSettings = *value;
            return true;
          },
          [](const Settings& settings) {
            return Allowed.bytes ? print_size(settings.*InSettings) : std::to_string(settings.*InSettings);
          }};
}

template <auto InOptions, auto InSettings, bool MayBeEmpty>
constexpr OptionRow text(Text name, Text expected, Text meaning) {
  return {name,
          "",
          expected,
          meaning,
          [](Settings& settings, Text value) {
            if (!MayBeEmpty && value.empty()) return false;
            settings.*InSettings = value;
            return true;
          },
          [](Settings& settings, const Options& options, bool& usable) {
            const auto& value = options.*InOptions;
            if (!value) return false;
            usable = MayBeEmpty || !value->empty();
            settings.*InSettings = *value;
            return true;
          },
          [](const Settings& settings) { return settings.*InSettings; }};
}

// A text that is one of a list of names.
template <auto InOptions, auto InSettings, const auto& Names>
constexpr OptionRow choice(Text name, Text expected, Text meaning) {
  OptionRow row = text<InOptions, InSettings, false>(name, expected, meaning);
  row.assign = [](Settings& settings, Text value) {
    const bool known = std::ranges::find(Names, value) != Names.end();
    if (known) settings.*InSettings = value;
    return known;
  };
  row.assign_from_code = [](Settings& settings, const Options& options, bool& usable) {
    const auto& value = options.*InOptions;
    if (!value) return false;
    usable = std::ranges::find(Names, *value) != Names.end();
    settings.*InSettings = *value;
    return true;
  };
  return row;
}

using O = Options;
using S = Settings;
constexpr Range kRing{.least = kKiB, .most = kGiB, .bytes = true, .power_of_two = true};
constexpr Range kEager{.least = 0, .most = kGiB / 4, .bytes = true};
constexpr Range kChunk{.least = 4 * kKiB, .most = kGiB, .bytes = true};
constexpr Range kMemory{.least = 4 * kKiB, .most = std::uint64_t{1} << 48, .bytes = true};
constexpr Range kSpin{.least = 0, .most = 3'600'000'000};
constexpr Range kSeconds{.least = 0, .most = kYear};
constexpr Range kJoin{.least = 1, .most = kYear};
constexpr Range kRecords{.least = 0, .most = 1 << 24};
constexpr Text kTruth = "true or false";

constexpr std::array kTable{
    text<&O::file, &S::file, true>("file", "the path of a TOML file", "file with further options"),
    word<&O::single, &S::single>("single", kTruth, "join as a job of one process when no launcher is there"),
    text<&O::store, &S::store, true>(
        "store", "unix:PATH, unix:@NAME, tcp:HOST:PORT, memcached:HOST:PORT, memcached:PATH, pmi, pmi1, pmi2, pmix",
        "where the processes of the job meet: set by heddle run, found out under other launchers"),
    text<&O::translators, &S::translators, false>("translators", "automatic, or comma-separated names, such as shm,tcp",
                                                  "translators that may be used, in order of preference"),
    number<&O::eager_limit, &S::eager_limit, kEager>("eager_limit", "bytes", "a size up to 256MiB",
                                                     "messages up to this size travel in one ring record"),
    number<&O::ring_bytes, &S::ring_bytes, kRing>("ring_bytes", "bytes", "a power of two from 1KiB to 1GiB",
                                                  "size of one ring: one direction, one peer"),
    number<&O::ring_memory, &S::ring_memory, kMemory>("ring_memory", "bytes", "a size from 4KiB to 256TiB",
                                                      "size of all rings of this process together"),
    number<&O::unsolicited_memory, &S::unsolicited_memory, kMemory>(
        "unsolicited_memory", "bytes", "a size from 4KiB to 256TiB",
        "unsolicited messages that this process holds; beyond it senders wait"),
    number<&O::chunk_bytes, &S::chunk_bytes, kChunk>("chunk_bytes", "bytes", "a size from 4KiB to 1GiB",
                                                     "moved at a time in a rendezvous"),
    word<&O::assist, &S::assist>("assist", kTruth, "let the sender copy part of a large message"),
    word<&O::waiting, &S::waiting>("waiting", "automatic, spin, yield or sleep", "how to wait when nothing arrives"),
    number<&O::spin_us, &S::spin_us, kSpin>("spin_us", "microseconds", "a number up to 3600000000",
                                            "spinning before the core is given away"),
    number<&O::watchdog_s, &S::watchdog_s, kSeconds>("watchdog_s", "seconds", "a number up to 31622400; 0 = never",
                                                     "time without progress before the watchdog reports"),
    number<&O::join_timeout_s, &S::join_timeout_s, kJoin>("join_timeout_s", "seconds", "a number from 1 to 31622400",
                                                          "time that joining may take"),
    number<&O::flight_records, &S::flight_records, kRecords>("flight_records", "entries", "a number up to 16777216",
                                                             "moments that the flight recorder keeps"),
    word<&O::log_level, &S::log_level>("log_level", "silent, error, warning, info or debug",
                                       "least serious message that is written"),
    text<&O::topology, &S::topology, true>("topology", "a tree such as 6-ary-2-tree:30, or a file of ibnetdiscover",
                                           "fabric that paths between nodes are planned on"),
    choice<&O::paths, &S::paths, kPathMethods>("paths", "conventional, node, pair or colouring",
                                               "method that plans the paths, where topology is given"),
    choice<&O::schedule, &S::schedule, kSchedules>("schedule", "planned or immediate",
                                                   "how messages are spread over the engines of a network"),
    word<&O::announce, &S::announce>("announce", kTruth, "rank 0 prints at start which translator serves whom"),
};

constexpr std::size_t kMostOptions = 20; // a promise to users: few enough to know them all
static_assert(kTable.size() <= kMostOptions);

} // namespace

std::span<const OptionRow> option_table() {
  return kTable;
}

Conflict find_conflict(const Settings& settings) {
  if (settings.ring_memory < settings.ring_bytes) {
    return {"ring_memory",
            "ring_memory " + print_size(settings.ring_memory) + " is less than one ring: ring_bytes is " +
                print_size(settings.ring_bytes),
            "raise ring_memory or lower ring_bytes"};
  }
  if (settings.eager_limit > settings.ring_bytes / 4) {
    return {"eager_limit",
            "eager_limit " + print_size(settings.eager_limit) + " is more than a quarter of ring_bytes " +
                print_size(settings.ring_bytes),
            "set eager_limit to at most " + print_size(settings.ring_bytes / 4) + " or raise ring_bytes"};
  }
  return {};
}

} // namespace heddle::base
