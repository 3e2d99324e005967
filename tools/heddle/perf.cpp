// heddle perf: measures the library between processes, under `heddle run` or with processes of its own.
#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/size_text.hpp"
#include "host_options.hpp"
#include "job/inspection.hpp"
#include "launch/launcher.hpp"
#include "measure.hpp"
#include "progress.hpp"
#include "subcommands.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include <unistd.h>

namespace heddle::tool {
namespace {

struct PerfArguments {
  std::string what;
  std::string via; // empty: shm, and tcp to other machines
  HostArguments hosts;
  std::optional<std::string> bytes;
  std::uint32_t processes = 2;
  bool json = false;
  Effort effort;
};

const std::map<std::string, Measure> kMeasures{{"latency", Measure::latency},
                                               {"rate", Measure::rate},
                                               {"bandwidth", Measure::bandwidth},
                                               {"alltoall", Measure::alltoall},
                                               {"push", Measure::push},
                                               {"push-rate", Measure::push_rate},
                                               {"push-bandwidth", Measure::push_bandwidth},
                                               {"pull", Measure::pull},
                                               {"fetch-add", Measure::fetch_add},
                                               {"lock", Measure::lock}};

const char* default_sizes(Measure what) {
  switch (what) {
    case Measure::latency: return "8,1KiB,8KiB,64KiB";
    case Measure::rate: return "8";
    case Measure::bandwidth: return "8KiB,64KiB,512KiB,1MiB,4MiB";
    case Measure::alltoall: return "8,1KiB,64KiB";
    case Measure::push:
    case Measure::pull: return "8,1KiB,64KiB";
    case Measure::push_bandwidth: return "64KiB,1MiB";
    case Measure::push_rate:
    case Measure::fetch_add:
    case Measure::lock: return "8";
  }
  return "8";
}

struct Unit {
  const char* name;   // for people
  const char* member; // of the JSON result
  double scale;       // from the JSON's unit to the one for people
};

Unit unit_of(Measure what) {
  switch (what) {
    case Measure::push:
    case Measure::pull:
    case Measure::fetch_add:
    case Measure::lock:
    case Measure::latency: return {"us", "median_us", 1};
    case Measure::push_rate:
    case Measure::rate: return {"million/s", "median_per_s", 1e-6};
    case Measure::push_bandwidth:
    case Measure::bandwidth: return {"MB/s", "median_mb_s", 1};
    case Measure::alltoall: return {"us", "median_us", 1};
  }
  return {};
}

void print_table(Measure what, const PerfArguments& arguments, const std::vector<Figure>& figures) {
  const Unit unit = unit_of(what);
  fmt::print("{} over {}, {}, median of {}\n", arguments.what, arguments.via, unit.name, arguments.effort.repetitions);
  fmt::print("{:>8} {:>12} {:>12} {:>12}{} {:>12}\n", "bytes", "median", "lowest", "highest",
             what == Measure::latency ? "          p99" : "", "operations");
  for (const Figure& figure : figures) {
    fmt::print("{:>8} {:>12.3f} {:>12.3f} {:>12.3f}", base::print_size(figure.bytes), figure.median * unit.scale,
               figure.lowest * unit.scale, figure.highest * unit.scale);
    if (what == Measure::latency) fmt::print(" {:>12.3f}", figure.p99);
    fmt::print(" {:>12}\n", figure.operations);
  }
}

void print_json(Measure what, const PerfArguments& arguments, const std::vector<Figure>& figures) {
  Json results = Json::array();
  for (const Figure& figure : figures) {
    Json result{{"bytes", figure.bytes}, {unit_of(what).member, figure.median}};
    if (what == Measure::latency) result["p99_us"] = figure.p99;
    result["lowest"] = figure.lowest;
    result["highest"] = figure.highest;
    result["operations"] = figure.operations;
    results.push_back(std::move(result));
  }
  fmt::print("{}\n", Json{{"via", arguments.via}, {"results", std::move(results)}}.dump());
}

int measure_here(PerfArguments& arguments, const std::vector<std::uint64_t>& sizes) {
  const Measure what = kMeasures.at(arguments.what);
  if (arguments.via.empty()) arguments.via = "automatic";
  auto context = Context::join({.translators = arguments.via});
  if (!context) return failed("perf", context.error());
  if (context->size() < 2)
    return bad_usage("perf", fmt::format("needs 2 processes or more, the job has {}", context->size()));
  std::optional<Progress> progress;
  if (context->rank() == Rank{0}) {
    progress.emplace("heddle perf");
    arguments.effort.tell = [&](std::uint64_t bytes, int repetition) {
      progress->at(fmt::format("{} of {}, repetition {} of {}", arguments.what, base::print_size(bytes), repetition,
                               arguments.effort.repetitions));
    };
  }
  std::vector<Figure> figures;
  for (const std::uint64_t bytes : sizes) {
    const auto figure = measure(*context, what, bytes, arguments.effort);
    if (!figure) return failed("perf", figure.error());
    figures.push_back(*figure);
  }
  if (context->rank() != Rank{0}) return 0;
  progress->wipe();
  if (const auto path = context->why(Rank{1}, sizes.front())) arguments.via = path->translator; // what served it
  if (arguments.json)
    print_json(what, arguments, figures);
  else
    print_table(what, arguments, figures);
  return 0;
}

// Starts the same command again as a job of its own. What would fail in every process is said once, here.
int measure_in_own_job(const PerfArguments& arguments, const std::string& sizes) {
  const std::string via = !arguments.via.empty() ? arguments.via : arguments.hosts.given() ? "shm,tcp" : "shm";
  const auto found = job::inspect({.translators = via}, base::Environment::of_process());
  if (!found) return failed("perf", found.error());
  for (const job::TranslatorReport& report : found->translators)
    if (report.standing == job::TranslatorReport::Standing::refused && !arguments.hosts.given())
      return failed("perf", report.refusal);
  launch::JobDescription job;
  job.processes = arguments.processes;
  job.command = {"/proc/self/exe",
                 "perf",
                 arguments.what,
                 "--via",
                 via,
                 "--bytes",
                 sizes,
                 "--repetitions",
                 std::to_string(arguments.effort.repetitions)};
  if (arguments.json) job.command.emplace_back("--json");
  if (arguments.hosts.given())
    if (auto applied = apply_hosts(arguments.hosts, arguments.processes, job); !applied)
      return failed("perf", applied.error());
  const auto status = launch::run(job, base::Log());
  return status ? *status : failed("perf", status.error());
}

// Two processes with two buffers each fit into memory, in whole MiB.
std::uint64_t largest_message() {
  const auto memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return memory / 4 >> 20U << 20U;
}

// What is wrong with a size for a measure; empty where nothing is.
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
    case Measure::latency:
    case Measure::rate:
    case Measure::alltoall: return "";
  }
  return "";
}

int run_perf(PerfArguments& arguments) {
  const Measure what = kMeasures.at(arguments.what);
  const std::string text = arguments.bytes.value_or(default_sizes(what));
  const auto sizes = base::parse_size_list(text);
  if (!sizes) return bad_usage("perf", "--bytes: " + sizes.error().fact);
  for (const std::uint64_t bytes : *sizes)
    if (const std::string_view wrong = objection(what, bytes); !wrong.empty())
      return bad_usage("perf", fmt::format("--bytes: {} means nothing here: {}", base::print_size(bytes), wrong));
  const std::uint64_t most = largest_message();
  for (const std::uint64_t bytes : *sizes)
    if (bytes > most)
      return bad_usage("perf",
                       fmt::format("--bytes: {} is more than the {} that a process can have in this machine's memory",
                                   base::print_size(bytes), base::print_size(most)));
  return std::getenv("HEDDLE_RANK") != nullptr ? measure_here(arguments, *sizes) : measure_in_own_job(arguments, text);
}

} // namespace

void add_perf(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<PerfArguments>();
  CLI::App* perf =
      program.add_subcommand("perf", "Measure messages between processes, under heddle run or in a job of its own");
  perf->add_option("what", arguments->what,
                   "latency, rate, bandwidth, alltoall, push, push-rate, push-bandwidth, pull, fetch-add or lock")
      ->required()
      ->check(CLI::IsMember(kMeasures).description(""))
      ->type_name("WHAT");
  perf->add_option("--via", arguments->via, "Translator to use (default: shm, and tcp to other machines)")
      ->type_name("NAME");
  perf->add_option("--bytes", arguments->bytes, "Message sizes, such as 8,64KiB,1MiB")->type_name("LIST");
  perf->add_option("-n", arguments->processes, "Processes of a job of its own")
      ->check(CLI::Range(2U, launch::kMostProcesses))
      ->capture_default_str()
      ->type_name("N");
  perf->add_option("--repetitions", arguments->effort.repetitions, "Repetitions, of which the median is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->type_name("COUNT");
  add_host_options(*perf, arguments->hosts);
  perf->add_flag("--json", arguments->json, "One JSON object instead of the table");
  perf->footer(
      "All but alltoall is measured between ranks 0 and 1. A repetition takes a fifth of a second at most, or two\n"
      "operations where those take longer; the last column says how many.\n\nExample: heddle perf latency --bytes "
      "8,1KiB");
  perf->callback([arguments, &invocation] { invocation.exit_status = run_perf(*arguments); });
}

} // namespace heddle::tool
