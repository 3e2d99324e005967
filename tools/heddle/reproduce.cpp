// heddle reproduce: the figures of the reports, theirs and ours side by side.
#include "reproduce.hpp"
#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "route.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::tool {
namespace {

struct Report {
  std::string_view name;
  std::vector<Part> (*parts)();
};

// A new report: a file reproduce_NAME.cpp, a declaration in reproduce.hpp, a line here.
constexpr std::array kReports{
    Report{"fat-tree", fat_tree_parts},
    Report{"portability", portability_parts},
    Report{"rhinet", rhinet_parts},
    Report{"scheduling", scheduling_parts},
};

struct ReproduceArguments {
  std::string what = "all";
  std::string only;
  std::string svg; // folder
  std::vector<std::string> set;
  std::uint32_t packets = 20;
  bool full_size = false;
  bool parameters = false;
  bool json = false;
};

// `a` is `b`, or what it begins with, up to a slash.
bool leads(std::string_view a, std::string_view b) {
  return b.starts_with(a) && (a.size() == b.size() || a.empty() || a.back() == '/' || b[a.size()] == '/');
}

Result<std::vector<Part>> chosen_parts(const ReproduceArguments& arguments) {
  std::vector<Part> parts;
  std::vector<std::string_view> reports{"all"};
  std::vector<std::string_view> ids;
  bool found = false;
  for (const Report& report : kReports) {
    reports.push_back(report.name);
    if (arguments.what != "all" && arguments.what != report.name) continue;
    found = true;
    for (Part& part : report.parts()) {
      ids.insert(ids.end(), part.ids.begin(), part.ids.end());
      const bool wanted = std::ranges::any_of(
          part.ids, [&](std::string_view id) { return leads(arguments.only, id) || leads(id, arguments.only); });
      if (wanted) parts.push_back(std::move(part));
    }
  }
  if (!found)
    return refuse(fmt::format("no report is called '{}', did you mean {}?", arguments.what,
                              base::nearest(arguments.what, reports)));
  if (parts.empty())
    return refuse(fmt::format("--only: no figure's id begins with '{}', did you mean {}?", arguments.only,
                              base::nearest(arguments.only, ids)));
  return parts;
}

std::string difference(const ReportedFigure& figure) {
  if (!figure.report || *figure.report == 0) return "";
  return fmt::format("{:+.1f} %", 100 * difference_of(figure));
}

void print_table(const Reproduction& all) {
  std::size_t width = 0;
  for (const ReportedFigure& figure : all.figures) width = std::max(width, figure.id.size());
  fmt::print("{:<{}} {:>10} {:>10} {:<6} {:>10}  {:<9} {}\n", "figure", width, "report", "ours", "unit", "difference",
             "kind", "verdict");
  for (const ReportedFigure& figure : all.figures)
    fmt::print("{:<{}} {:>10} {:>10.5g} {:<6} {:>10}  {:<9} {}\n", figure.id, width,
               figure.report ? fmt::format("{:.5g}", *figure.report) : "-", figure.ours, figure.unit,
               difference(figure), to_string(figure.kind), to_string(verdict_of(figure)));
}

// Of all predicted figures with a value of the report, the worst first: what is to be believed, and what is not.
void print_verdicts(const Reproduction& all) {
  std::vector<const ReportedFigure*> predicted;
  for (const ReportedFigure& figure : all.figures)
    if (verdict_of(figure) != Verdict::none) predicted.push_back(&figure);
  if (predicted.empty()) return;
  // Where two are as far off, the one that the table has first.
  std::ranges::sort(predicted, [](const ReportedFigure* one, const ReportedFigure* other) {
    const double far = std::abs(difference_of(*one));
    const double as_far = std::abs(difference_of(*other));
    return far != as_far ? far > as_far : one < other;
  });
  const auto count = [&](Verdict verdict) {
    return std::ranges::count_if(predicted, [&](const ReportedFigure* each) { return verdict_of(*each) == verdict; });
  };
  fmt::print(
      "\n{} predicted figures have a value of the report: {} within tolerance, {} known misses, {} misses; worst "
      "first:\n",
      predicted.size(), count(Verdict::holds), count(Verdict::known_miss), count(Verdict::misses));
  for (const ReportedFigure* figure : predicted)
    fmt::print("{:>10}  tolerance {:>4.0f} %  {:<10} {}\n", difference(*figure), 100 * figure->tolerance,
               to_string(verdict_of(*figure)), figure->id);
  for (const ReportedFigure* figure : predicted)
    if (verdict_of(*figure) == Verdict::known_miss) fmt::print("known: {}: {}\n", figure->id, known_miss(figure->id));
}

void print_json(const Reproduction& all) {
  Json figures = Json::array();
  for (const ReportedFigure& figure : all.figures) {
    Json one{{"id", figure.id},
             {"report", figure.report ? Json(*figure.report) : Json()},
             {"ours", figure.ours},
             {"unit", figure.unit},
             {"kind", to_string(figure.kind)}};
    if (verdict_of(figure) != Verdict::none) {
      one["tolerance"] = figure.tolerance;
      one["verdict"] = to_string(verdict_of(figure));
    }
    figures.push_back(std::move(one));
  }
  fmt::print("{}\n", Json{{"figures", std::move(figures)}}.dump());
}

Result<void> draw(const std::vector<Chart>& charts, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Chart& chart : charts) files.emplace_back(fmt::format("{}/{}.svg", folder, chart.file), to_svg(chart));
  return write_whole_files(files);
}

Result<Reproduction> reproduce(const std::vector<Part>& parts, const ReproduceArguments& arguments, const Run& run) {
  Reproduction all;
  for (const Part& part : parts) {
    run.at(part.ids.front());
    if (auto added = part.add(all, run); !added) return std::unexpected(added.error());
  }
  std::erase_if(all.figures, [&](const ReportedFigure& figure) { return !leads(arguments.only, figure.id); });
  return all;
}

int run_reproduce(const ReproduceArguments& arguments) {
  auto parameters = Parameters::with(arguments.set);
  if (!parameters) return failed("reproduce", parameters.error());
  Progress progress("heddle reproduce");
  const Run run{.parameters = std::move(*parameters),
                .packets = arguments.packets,
                .full_size = arguments.full_size,
                .progress = &progress};
  if (arguments.parameters) return print_parameters(run, arguments.only, arguments.json);
  const auto parts = chosen_parts(arguments);
  if (!parts) return failed("reproduce", parts.error());
  // Before the minutes that the figures take.
  if (!arguments.svg.empty())
    if (auto made = make_folder(arguments.svg); !made) return failed("reproduce", made.error());
  const auto all = reproduce(*parts, arguments, run);
  progress.wipe();
  if (!all) return failed("reproduce", all.error());
  if (!arguments.svg.empty())
    if (auto drawn = draw(all->charts, arguments.svg); !drawn) return failed("reproduce", drawn.error());
  if (arguments.json) {
    print_json(*all);
  } else {
    print_table(*all);
    print_verdicts(*all);
  }
  const bool missed = std::ranges::any_of(
      all->figures, [](const ReportedFigure& figure) { return verdict_of(figure) == Verdict::misses; });
  return missed ? 1 : 0;
}

} // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::input: return "input";
    case Kind::fitted: return "fitted";
    case Kind::predicted: return "predicted";
    case Kind::measured: return "measured";
  }
  return "";
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return "";
    case Verdict::holds: return "holds";
    case Verdict::known_miss: return "known miss";
    case Verdict::misses: return "MISSES";
  }
  return "";
}

double difference_of(const ReportedFigure& figure) {
  return figure.report && *figure.report != 0 ? figure.ours / *figure.report - 1 : 0;
}

Verdict verdict_of(const ReportedFigure& figure) {
  if (figure.kind != Kind::predicted || !figure.report) return Verdict::none;
  const double rounding = 1e-9;
  if (std::abs(figure.ours - *figure.report) <= figure.tolerance * std::abs(*figure.report) + rounding)
    return Verdict::holds;
  return known_miss(figure.id).empty() ? Verdict::misses : Verdict::known_miss;
}

void add_reproduce(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* reproduce = program.add_subcommand("reproduce", "The figures of the reports, theirs and ours side by side");
  reproduce->add_option("report", arguments->what, "fat-tree, portability, rhinet, scheduling or all")
      ->capture_default_str()
      ->type_name("REPORT");
  reproduce
      ->add_option("--only", arguments->only,
                   "Only figures whose id begins so, such as rhinet/mcast; with --parameters, names")
      ->type_name("ID");
  reproduce->add_flag(
      "--parameters", arguments->parameters,
      "What the models are told and where that comes from; how far figures move with what has no source");
  reproduce->add_option("--set", arguments->set, "Change a parameter, such as tofu.hop=50ns; again for more")
      ->type_name("NAME=VALUE");
  reproduce->add_option("--svg", arguments->svg, "Draw the charts into this folder, too")->type_name("DIR");
  reproduce
      ->add_option("--packets", arguments->packets,
                   "Sets of the fat-tree report to run in packets, too: half a second each for every method")
      ->check(CLI::Range(0U, 1000U))
      ->capture_default_str()
      ->type_name("SETS");
  reproduce->add_flag("--full-size", arguments->full_size,
                      "These with the report's 1 MiB and 8 processes a node: ten seconds each for every method");
  add_json_flag(*reproduce, arguments->json);
  reproduce->footer(
      "Exit status 1: a predicted figure is further from the report's than its tolerance, and is no known miss.\n\n"
      "Example: heddle reproduce fat-tree --only fat-tree/contiguous --svg charts");
  reproduce->callback([arguments, &invocation] { invocation.exit_status = run_reproduce(*arguments); });
}

} // namespace heddle::tool
