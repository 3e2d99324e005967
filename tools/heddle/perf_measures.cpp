#include "perf_measures.hpp"

#include <algorithm>
#include <array>

namespace heddle::tool {
namespace {

constexpr Unit kMicroseconds{"us", "median_us", 1};
constexpr Unit kMilliseconds{"ms", "median_ms", 1};
constexpr Unit kPerSecond{"million/s", "median_per_s", 1e-6};
constexpr Unit kMegabytes{"MB/s", "median_mb_s", 1};
constexpr Unit kKibibytes{"KiB", "median_kib", 1};

constexpr std::array kMeasures{
    NamedMeasure{"latency", Measure::latency, kMicroseconds, "8,1KiB,8KiB,64KiB"},
    NamedMeasure{"rate", Measure::rate, kPerSecond, "8"},
    NamedMeasure{"bandwidth", Measure::bandwidth, kMegabytes, "8KiB,64KiB,512KiB,1MiB,4MiB"},
    NamedMeasure{"alltoall", Measure::alltoall, kMicroseconds, "8,1KiB,64KiB"},
    NamedMeasure{"barrier", Measure::barrier, kMicroseconds, "0"},
    NamedMeasure{"random", Measure::random, kPerSecond, "0"},
    NamedMeasure{"memory", Measure::memory, kKibibytes, "8"},
    NamedMeasure{"join", Measure::join, kMilliseconds, "0"},
    NamedMeasure{"match-posted", Measure::match_posted, kMicroseconds, "8"},
    NamedMeasure{"match-unexpected", Measure::match_unexpected, kMicroseconds, "8"},
    NamedMeasure{"match-posted-masked", Measure::match_posted_masked, kMicroseconds, "8"},
    NamedMeasure{"match-unexpected-masked", Measure::match_unexpected_masked, kMicroseconds, "8"},
    NamedMeasure{"push", Measure::push, kMicroseconds, "8,1KiB,64KiB"},
    NamedMeasure{"push-rate", Measure::push_rate, kPerSecond, "8"},
    NamedMeasure{"push-bandwidth", Measure::push_bandwidth, kMegabytes, "64KiB,1MiB"},
    NamedMeasure{"pull", Measure::pull, kMicroseconds, "8,1KiB,64KiB"},
    NamedMeasure{"fetch-add", Measure::fetch_add, kMicroseconds, "8"},
    NamedMeasure{"lock", Measure::lock, kMicroseconds, "8"},
};

} // namespace

const NamedMeasure& measure_named(std::string_view name) {
  return *std::ranges::find_if(kMeasures, [name](const NamedMeasure& measure) { return name == measure.name; });
}

std::vector<std::string> measure_names() {
  std::vector<std::string> names;
  for (const NamedMeasure& measure : kMeasures) names.emplace_back(measure.name);
  return names;
}

std::string_view objection(Measure what, std::uint64_t bytes) {
  constexpr std::uint64_t kWordBytes = 8;
  switch (what) {
    case Measure::fetch_add: return bytes == kWordBytes ? "" : "fetch-add works on one word of 8 bytes";
    case Measure::lock: return bytes == kWordBytes ? "" : "lock moves no data: its word has 8 bytes";
    case Measure::push:
    case Measure::push_rate:
    case Measure::push_bandwidth:
    case Measure::pull: return bytes >= kWordBytes ? "" : "one-sided operations move at least one word of 8 bytes";
    case Measure::bandwidth: return bytes > 0 ? "" : "empty messages have no bandwidth";
    case Measure::barrier: return bytes == 0 ? "" : "a barrier moves no data";
    case Measure::join: return bytes == 0 ? "" : "joining moves no data";
    case Measure::random: return bytes == 0 ? "" : "random traffic draws its sizes";
    case Measure::match_posted:
    case Measure::match_unexpected:
    case Measure::match_posted_masked:
    case Measure::match_unexpected_masked: return bytes == kWordBytes ? "" : "messages to be matched have 8 bytes";
    case Measure::latency:
    case Measure::rate:
    case Measure::alltoall:
    case Measure::memory: return "";
  }
  return "";
}

} // namespace heddle::tool
