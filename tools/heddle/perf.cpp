// heddle perf: measures the library between processes, under `heddle run` or with processes of its own.
#include "base/environment.hpp"
#include "base/size_text.hpp"
#include "host_options.hpp"
#include "job/inspection.hpp"
#include "launch/identity.hpp"
#include "launch/launcher.hpp"
#include "perf_measures.hpp"
#include "progress.hpp"
#include "subcommands.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
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

void print_table(const NamedMeasure& measure, const PerfArguments& arguments, const std::vector<Figure>& figures) {
  const Unit& unit = measure.unit;
  const bool has_tail = measure.what == Measure::latency;
  fmt::print("{} over {}, {} processes, {}, median of ", measure.name, arguments.via, arguments.processes, unit.name);
  if (measure.what == Measure::memory)
    fmt::print("the processes\n");
  else
    fmt::print("{}\n", arguments.effort.repetitions);
  fmt::print("{:>8} {:>12} {:>12} {:>12}{} {:>12}\n", "bytes", "median", "lowest", "highest",
             has_tail ? "          p99" : "", "operations");
  for (const Figure& figure : figures) {
    fmt::print("{:>8} {:>12.3f} {:>12.3f} {:>12.3f}", base::print_size(figure.bytes), figure.median * unit.scale,
               figure.lowest * unit.scale, figure.highest * unit.scale);
    if (has_tail) fmt::print(" {:>12.3f}", figure.p99);
    fmt::print(" {:>12}\n", figure.operations);
  }
}

void print_json(const NamedMeasure& measure, const PerfArguments& arguments, const std::vector<Figure>& figures) {
  Json results = Json::array();
  for (const Figure& figure : figures) {
    Json result{{"bytes", figure.bytes}, {measure.unit.member, figure.median}};
    if (measure.what == Measure::latency) result["p99_us"] = figure.p99;
    result["lowest"] = figure.lowest;
    result["highest"] = figure.highest;
    result["operations"] = figure.operations;
    results.push_back(std::move(result));
  }
  const Json object{{"via", arguments.via}, {"processes", arguments.processes}, {"results", std::move(results)}};
  fmt::print("{}\n", object.dump());
}

void print(const PerfArguments& arguments, const std::vector<Figure>& figures) {
  const NamedMeasure& measure = measure_named(arguments.what);
  if (arguments.json)
    print_json(measure, arguments, figures);
  else
    print_table(measure, arguments, figures);
}

// Shows how far a measurement is, on the terminal of who sees it.
void show_progress(std::optional<Progress>& progress, PerfArguments& arguments) {
  progress.emplace("heddle perf");
  arguments.effort.tell = [&progress, &arguments](std::uint64_t bytes, int repetition) {
    progress->at(fmt::format("{} of {}, repetition {} of {}", arguments.what, base::print_size(bytes), repetition,
                             arguments.effort.repetitions));
  };
}

int measure_here(PerfArguments& arguments, const std::vector<std::uint64_t>& sizes) {
  const Measure what = measure_named(arguments.what).what;
  if (arguments.via.empty()) arguments.via = "automatic";
  auto context = Context::join({.translators = arguments.via});
  if (!context) return failed("perf", context.error());
  if (context->size() < 2)
    return bad_usage("perf", fmt::format("needs 2 processes or more, the job has {}", context->size()));
  if (what == Measure::join) return 0; // who started the job has the clock
  arguments.processes = context->size();
  std::optional<Progress> progress;
  if (context->rank() == Rank{0}) show_progress(progress, arguments);
  std::vector<Figure> figures;
  for (const std::uint64_t bytes : sizes) {
    const auto figure = measure(*context, what, bytes, arguments.effort);
    if (!figure) return failed("perf", figure.error());
    figures.push_back(*figure);
  }
  if (context->rank() != Rank{0}) return 0;
  progress->wipe();
  if (const auto path = context->why(Rank{1}, sizes.front())) arguments.via = path->translator; // what served it
  print(arguments, figures);
  return 0;
}

// Whole jobs, each of which joins and leaves at once, from the start of the first process to the end of the last.
int measure_joins(PerfArguments& arguments, const launch::JobDescription& job) {
  arguments.processes = job.processes;
  std::optional<Progress> progress;
  show_progress(progress, arguments);
  int status = 0;
  auto figure = repeat(0, arguments.effort, [&]() -> Result<double> {
    const std::uint64_t start = base::steady_ns();
    const auto ended = launch::run(job);
    if (!ended) return std::unexpected(ended.error());
    status = std::max(status, *ended);
    return seconds_since(start) * 1e3;
  });
  progress->wipe();
  if (!figure) return failed("perf", figure.error());
  if (status != 0) return status;
  figure->operations = 1;
  print(arguments, {*figure});
  return 0;
}

// Starts the same command again as a job of its own. What would fail in every process is said once, here.
int measure_in_own_job(PerfArguments& arguments, const std::string& sizes) {
  if (arguments.via.empty()) arguments.via = arguments.hosts.given() ? "shm,tcp" : "shm";
  const auto found = job::inspect({.translators = arguments.via}, base::Environment::of_process());
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
                 arguments.via,
                 "--bytes",
                 sizes,
                 "--repetitions",
                 std::to_string(arguments.effort.repetitions),
                 "--compute",
                 std::to_string(arguments.effort.compute_us)};
  if (arguments.json) job.command.emplace_back("--json");
  if (arguments.hosts.given())
    if (auto applied = apply_hosts(arguments.hosts, arguments.processes, job); !applied)
      return failed("perf", applied.error());
  if (measure_named(arguments.what).what == Measure::join) return measure_joins(arguments, job);
  const auto status = launch::run(job);
  return status ? *status : failed("perf", status.error());
}

// Two processes with two buffers each fit into memory, in whole MiB.
std::uint64_t largest_message() {
  const auto memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return memory / 4 >> 20U << 20U;
}

// Whether this process is one of a job that somebody has started. What is only half of one is none: a job of our own takes it away.
bool is_in_job() {
  const base::Environment environment = base::Environment::of_process();
  base::Settings settings;
  if (const auto store = environment.lookup("HEDDLE_STORE")) settings.store = *store;
  if (environment.lookup("HEDDLE_RANK")) return true;
  const auto identity = launch::detect(environment, settings);
  return identity && !identity->single();
}

int run_perf(PerfArguments& arguments) {
  const auto& [name, what, unit, default_sizes] = measure_named(arguments.what);
  const std::string text = arguments.bytes.value_or(default_sizes);
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
  if (arguments.effort.compute_us > 0 && what != Measure::latency)
    return bad_usage("perf", fmt::format("--compute means nothing for {}: expected with latency", name));
  return is_in_job() ? measure_here(arguments, *sizes) : measure_in_own_job(arguments, text);
}

} // namespace

void add_perf(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<PerfArguments>();
  CLI::App* perf =
      program.add_subcommand("perf", "Measure messages between processes, under heddle run or in a job of its own");
  const std::vector<std::string> names = measure_names();
  perf->add_option("what", arguments->what, "One of " + CLI::detail::join(names, ", "))
      ->required()
      ->check(CLI::IsMember(names).description(""))
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
  perf->add_option("--compute", arguments->effort.compute_us,
                   "latency: how long both sides compute before they send, which does not count")
      ->check(CLI::Range(0U, 1'000'000U))
      ->capture_default_str()
      ->type_name("US");
  add_host_options(*perf, arguments->hosts);
  perf->add_flag("--json", arguments->json, "One JSON object instead of the table");
  perf->footer(
      "In alltoall, barrier, random, memory and join all processes take part; all else is measured between ranks 0 and "
      "1. A\n"
      "repetition takes a fifth of a second at most, or two operations where those take longer; the last column says "
      "how "
      "many.\n"
      "random: messages of 8 bytes to 32 KiB to drawn partners, of the whole job. memory: proportional set size of a "
      "process\n"
      "after one all-to-all. join: a whole job that joins and leaves at once. match: 10,000 messages of different "
      "tags, "
      "the\n"
      "last receive's first, or the last message received first; masked: receives that ignore a bit of the tag.\n\n"
      "Example: heddle perf latency --bytes 8,1KiB\n"
      "         heddle perf barrier -n 8");
  perf->callback([arguments, &invocation] { invocation.exit_status = run_perf(*arguments); });
}

} // namespace heddle::tool
