#include "mpi_compare.hpp"
#include "mpi_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace heddle::tool {
namespace {

enum class Side : std::uint8_t { own, heddle };

Error comparison_failed(std::string fact, std::string remedy) {
  return {.code = ErrorCode::system_failed, .fact = std::move(fact), .remedy = std::move(remedy)};
}

// The last line of what a command has printed that says anything.
std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last = "nothing";
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" -\r") != std::string::npos) last = line;
  return last;
}

// Lines of libheddle-mpi-times.so: nanoseconds run, nanoseconds waited, calls.
Timed read_times(const std::string& text) {
  std::istringstream lines(text);
  Timed timed;
  double run = 0;
  double waited = 0;
  double calls = 0;
  while (lines >> run >> waited >> calls) {
    timed.run = std::max(timed.run, run * 1e-9);
    timed.waiting += waited * 1e-9;
    ++timed.processes;
  }
  if (timed.processes > 0) timed.waiting /= static_cast<double>(timed.processes);
  return timed;
}

Result<Timed> run_once(const Comparison& what, Side side, const std::string& libraries) {
  const Register used;
  const Register times;
  const Register output;
  if (!used.made() || !times.made() || !output.made()) return std::unexpected(no_register());
  Variables variables = side == Side::heddle ? variables_for(what.via, libraries) : variables_to_start();
  variables.emplace_back("FI_HEDDLE_REGISTER", used.path());
  variables.emplace_back("FI_HEDDLE_TIMES", times.path());
  const char* before = std::getenv("LD_PRELOAD");
  variables.emplace_back("LD_PRELOAD", libraries + "/libheddle-mpi-times.so" +
                                           (before != nullptr && *before != '\0' ? std::string(":") + before : ""));
  pass_on(variables, what.command);
  const int status =
      run_command({.command = what.command, .variables = variables, .output = output.path(), .folder = what.folder});
  const char* const by = side == Side::heddle ? "over Heddle" : "on the MPI's own transport";
  if (status != 0)
    return std::unexpected(comparison_failed(
        fmt::format("{} {} ended with status {}: {}", what.name, by, status, last_line(output.text())), {}));
  const Timed timed = read_times(times.text());
  if (timed.processes == 0)
    return std::unexpected(comparison_failed(
        fmt::format("no process of {} reported its times", what.name),
        "it must be an MPI program that calls MPI_Finalize, and be linked with its MPI's shared library"));
  const std::size_t signed_in = used.text().size();
  if (side == Side::heddle && signed_in < timed.processes)
    return std::unexpected(comparison_failed(
        fmt::format("of {} processes of {} only {} used Heddle in its turn", timed.processes, what.name, signed_in),
        "its MPI must be built on libfabric, and the command must not choose another transport"));
  if (side == Side::own && signed_in > 0)
    return std::unexpected(
        comparison_failed(fmt::format("{} used Heddle where it was to use its MPI's own transport", what.name),
                          "unset what `heddle mpi --print-env` has set"));
  return timed;
}

} // namespace

Result<Compared> compare(const Comparison& what, const std::function<void(std::string_view)>& at) {
  const auto libraries = find_provider();
  if (!libraries)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "libheddle-fi.so is not beside this program (lib/libfabric)",
                                 .remedy = "install libfabric-dev and build again"});
  Compared compared{.name = what.name, .own = {}, .heddle = {}};
  for (unsigned round = 0; round < what.rounds; ++round)
    for (const bool first : {true, false}) {
      const Side side = first == (round % 2 == 0) ? Side::own : Side::heddle;
      at(fmt::format("{}, round {} of {}, {}", what.name, round + 1, what.rounds,
                     side == Side::own ? "own transport" : "Heddle"));
      auto timed = run_once(what, side, *libraries);
      if (!timed) return std::unexpected(timed.error());
      if (asked_to_end() != 0) return std::unexpected(comparison_failed("it was asked to end", {}));
      (side == Side::own ? compared.own : compared.heddle).push_back(*timed);
    }
  return compared;
}

namespace {

double median_value(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> members(const std::vector<Timed>& runs, double Timed::* member) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const Timed& run : runs) values.push_back(run.*member);
  return values;
}

// As a fraction of the median.
double range_of(const std::vector<double>& values) {
  const double median = median_value(values);
  return median > 0 ? (std::ranges::max(values) - std::ranges::min(values)) / median : 0;
}

// One of each round.
std::vector<double> ratios_of(const Compared& compared, double Timed::* member) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < compared.own.size(); ++i)
    if (compared.own[i].*member > 0) ratios.push_back(compared.heddle[i].*member / compared.own[i].*member);
  return ratios;
}

std::string side_line(const char* name, const std::vector<Timed>& runs) {
  return fmt::format("{:<10} {:>10.4f} s ±{:>3.0f} % {:>10.4f} s ±{:>3.0f} %\n", name, median_of(runs, &Timed::run),
                     50 * spread_of(runs, &Timed::run), median_of(runs, &Timed::waiting),
                     50 * spread_of(runs, &Timed::waiting));
}

Json side_json(const std::vector<Timed>& runs) {
  Json each = Json::array();
  for (const Timed& run : runs) each.push_back({{"run_s", run.run}, {"waiting_s", run.waiting}});
  return {{"median_s", median_of(runs, &Timed::run)},
          {"spread", spread_of(runs, &Timed::run)},
          {"waiting_s", median_of(runs, &Timed::waiting)},
          {"waiting_spread", spread_of(runs, &Timed::waiting)},
          {"runs", std::move(each)}};
}

} // namespace

double median_of(const std::vector<Timed>& runs, double Timed::* member) {
  return median_value(members(runs, member));
}

double spread_of(const std::vector<Timed>& runs, double Timed::* member) {
  return range_of(members(runs, member));
}

double ratio_of(const Compared& compared, double Timed::* member) {
  return median_value(ratios_of(compared, member));
}

double ratio_spread_of(const Compared& compared, double Timed::* member) {
  return range_of(ratios_of(compared, member));
}

std::string to_text(const Compared& compared) {
  return fmt::format("{}: {} processes, {} rounds\n{:<10} {:>19} {:>20}\n", compared.name,
                     compared.own.front().processes, compared.own.size(), "", "run time", "waiting in MPI") +
         side_line("own", compared.own) + side_line("heddle", compared.heddle) +
         fmt::format("{:<10} {:>10.3f} {:>20.3f}\n", "ratio", ratio_of(compared, &Timed::run),
                     ratio_of(compared, &Timed::waiting));
}

std::string to_text(const std::vector<Compared>& all) {
  std::size_t width = std::string_view("program").size();
  for (const Compared& each : all) width = std::max(width, each.name.size());
  std::string text = fmt::format("{:<{}} {:>9} {:>12} {:>10} {:>14} {:>14} {:>10} {:>14}\n", "program", width,
                                 "processes", "run time: own", "Heddle", "ratio", "waiting: own", "Heddle", "ratio");
  for (const Compared& each : all) {
    text += fmt::format("{:<{}} {:>9}", each.name, width, each.own.front().processes);
    for (double Timed::* const member : {&Timed::run, &Timed::waiting})
      text += fmt::format(" {:>11.4f} s {:>8.4f} s {:>7.3f} ±{:>3.0f} %", median_of(each.own, member),
                          median_of(each.heddle, member), ratio_of(each, member), 50 * ratio_spread_of(each, member));
    text += "\n";
  }
  return text;
}

Json to_json(const Compared& compared) {
  return {{"program", compared.name},
          {"processes", compared.own.front().processes},
          {"rounds", compared.own.size()},
          {"own", side_json(compared.own)},
          {"heddle", side_json(compared.heddle)},
          {"ratio", ratio_of(compared, &Timed::run)},
          {"waiting_ratio", ratio_of(compared, &Timed::waiting)}};
}

} // namespace heddle::tool
