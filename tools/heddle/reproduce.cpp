// heddle reproduce: the figures of the reports, theirs and ours side by side.
#include "reproduce.hpp"
#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "route.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace heddle::tool {
namespace {

struct Report {
  std::string_view name;
  std::vector<Part> (*parts)();
  bool in_all = true; // not where it runs programs of others
};

// A new report: a file reproduce_NAME.cpp, a declaration in reproduce.hpp, a line here.
constexpr std::array kReports{
    Report{"fat-tree", fat_tree_parts},       Report{"mpi", mpi_parts, false},
    Report{"portability", portability_parts}, Report{"rhinet", rhinet_parts},
    Report{"scheduling", scheduling_parts},
};

struct ReproduceArguments {
  std::string what = "all";
  std::string only;
  std::string svg;  // folder
  std::string html; // folder
  std::vector<std::string> set;
  std::uint32_t packets = 20;
  bool full_size = false;
  MpiOptions mpi;
  bool parameters = false;
  bool json = false;
};

// `a` is `b`, or what it begins with, up to a slash.
bool leads(std::string_view a, std::string_view b) {
  return b.starts_with(a) && (a.size() == b.size() || a.empty() || a.back() == '/' || b[a.size()] == '/');
}

bool is_chosen(const Report& report, std::string_view what) {
  return what == "all" ? report.in_all : what == report.name;
}

// Options of one report are in a group of the help that is named after it; refused where it is not run. 0 where there are none.
constexpr std::string_view kOptionsOf = "Options of ";
int check_options_of_reports(const CLI::App& reproduce, std::string_view what) {
  for (const CLI::Option* option : reproduce.get_options())
    for (const Report& report : kReports)
      if (option->count() > 0 && option->get_group() == fmt::format("{}{}", kOptionsOf, report.name) &&
          !is_chosen(report, what))
        return bad_usage("reproduce", fmt::format("{} is of heddle reproduce {}", option->get_name(), report.name));
  return 0;
}

Result<std::vector<Part>> chosen_parts(const ReproduceArguments& arguments) {
  std::vector<Part> parts;
  std::vector<std::string_view> reports{"all"};
  std::vector<std::string_view> ids;
  bool found = false;
  for (const Report& report : kReports) {
    reports.push_back(report.name);
    if (!is_chosen(report, arguments.what)) continue;
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

std::size_t longest_id(const std::vector<Section>& sections) {
  std::size_t width = 0;
  for (const Section& section : sections)
    for (const ReportedFigure& figure : section.made.figures) width = std::max(width, figure.id.size());
  return width;
}

void print_table(const std::vector<Section>& sections) {
  const std::size_t width = longest_id(sections);
  fmt::print("{:<{}} {:>10} {:>10} {:<6} {:>10}  {:<9} {}\n", "figure", width, "report", "ours", "unit", "difference",
             "kind", "verdict");
  for (const Section& section : sections)
    for (const ReportedFigure& figure : section.made.figures)
      fmt::print("{:<{}} {:>10} {:>10.5g} {:<6} {:>10}  {:<9} {}\n", figure.id, width,
                 printed_report(figure).empty() ? "-" : printed_report(figure), figure.ours, figure.unit,
                 printed_difference(figure), to_string(figure.kind), to_string(verdict_of(figure)));
}

void print_verdicts(const std::vector<Section>& sections) {
  const std::vector<const ReportedFigure*> predicted = worst_first(sections);
  if (predicted.empty()) return;
  const auto count = [&](Verdict verdict) {
    return std::ranges::count_if(predicted, [&](const ReportedFigure* each) { return verdict_of(*each) == verdict; });
  };
  fmt::print(
      "\n{} predicted figures have a value or a bound of the report: {} within tolerance, {} known misses, {} misses; "
      "worst "
      "first:\n",
      predicted.size(), count(Verdict::holds), count(Verdict::known_miss), count(Verdict::misses));
  for (const ReportedFigure* figure : predicted)
    fmt::print("{:>10}  {:<24}  {:<10} {}\n", printed_difference(*figure), printed_allowance(*figure),
               to_string(verdict_of(*figure)), figure->id);
  for (const ReportedFigure* figure : predicted)
    if (const KnownMiss* known = known_miss(figure->id); verdict_of(*figure) == Verdict::known_miss)
      fmt::print("known from {:g} to {:g}: {}: {}\n", known->least, known->most, figure->id, known->reason);
}

// Each once, since parts of a report share some.
std::vector<std::string> all_notes(const std::vector<Section>& sections, const Run& run) {
  std::vector<std::string> all;
  for (const Section& section : sections)
    for (std::string& note : notes_of(section.part, run))
      if (std::ranges::find(all, note) == all.end()) all.push_back(std::move(note));
  return all;
}

Json as_json(const ReportedFigure& figure) {
  Json one{{"id", figure.id},
           {"report", figure.report ? Json(*figure.report) : Json()},
           {"ours", figure.ours},
           {"unit", figure.unit},
           {"kind", to_string(figure.kind)}};
  if (figure.below) one["below"] = *figure.below;
  if (verdict_of(figure) != Verdict::none) {
    if (figure.report) one["tolerance"] = figure.tolerance;
    if (figure.error > 0) one["error"] = figure.error;
    one["verdict"] = to_string(verdict_of(figure));
  }
  return one;
}

void print_json(const std::vector<Section>& sections, const Run& run) {
  Json whole{{"figures", Json::array()}, {"notes", all_notes(sections, run)}};
  for (const Section& section : sections) {
    for (const ReportedFigure& figure : section.made.figures) whole["figures"].push_back(as_json(figure));
    for (const Compared& each : section.made.compared) whole["programs"].push_back(to_json(each));
    for (const NotRun& each : section.made.not_run) whole["not_run"].push_back({{"id", each.id}, {"why", each.why}});
  }
  fmt::print("{}\n", whole.dump());
}

// What makes the same figures again, up to the choice among them.
std::string command_of(const ReproduceArguments& arguments) {
  std::string command = "heddle reproduce";
  if (arguments.what != "all") command += " " + arguments.what;
  for (const std::string& each : arguments.set) command += " --set " + each;
  if (arguments.packets != ReproduceArguments{}.packets) command += fmt::format(" --packets {}", arguments.packets);
  if (arguments.full_size) command += " --full-size";
  if (arguments.what == "mpi") {
    const MpiOptions& mpi = arguments.mpi;
    command += fmt::format(" --rounds {} --processes {} --size {}", mpi.rounds, mpi.processes, mpi.size);
    if (!mpi.programs.empty()) command += " --programs " + mpi.programs;
  }
  return command;
}

Result<void> write_pictures(const std::vector<Section>& sections, const ReproduceArguments& arguments, const Run& run) {
  std::vector<std::pair<std::string, std::string>> files;
  if (!arguments.svg.empty())
    for (const Section& section : sections) {
      if (!section.made.compared.empty())
        files.emplace_back(arguments.svg + "/mpi.svg", picture_of_programs(section.made));
      for (const Chart& chart : section.made.charts)
        files.emplace_back(fmt::format("{}/{}.svg", arguments.svg, chart.file), to_svg(chart));
    }
  if (!arguments.html.empty()) {
    auto page = reproduction_page(sections, run, command_of(arguments));
    if (!page) return std::unexpected(page.error());
    files.emplace_back(arguments.html + "/index.html", std::move(*page));
  }
  return write_whole_files(files);
}

Result<std::vector<Section>> reproduce(std::vector<Part> parts, const ReproduceArguments& arguments, const Run& run) {
  std::vector<Section> sections;
  for (Part& part : parts) {
    run.at(part.ids.front());
    Section& section = sections.emplace_back(Section{std::move(part), {}});
    if (auto added = section.part.add(section.made, run); !added) return std::unexpected(added.error());
    std::erase_if(section.made.figures,
                  [&](const ReportedFigure& figure) { return !leads(arguments.only, figure.id); });
  }
  return sections;
}

int run_reproduce(const ReproduceArguments& arguments) {
  auto parameters = Parameters::with(arguments.set);
  if (!parameters) return failed("reproduce", parameters.error());
  Progress progress("heddle reproduce");
  const Run run{.parameters = std::move(*parameters),
                .packets = arguments.packets,
                .full_size = arguments.full_size,
                .mpi = arguments.mpi,
                .only = arguments.only,
                .progress = &progress};
  if (arguments.parameters) return print_parameters(run, arguments.only, arguments.json);
  auto parts = chosen_parts(arguments);
  if (!parts) return failed("reproduce", parts.error());
  // Before the minutes that the figures take.
  for (const std::string& folder : {arguments.svg, arguments.html})
    if (!folder.empty())
      if (auto made = make_folder(folder); !made) return failed("reproduce", made.error());
  const auto sections = reproduce(std::move(*parts), arguments, run);
  const auto written = sections ? write_pictures(*sections, arguments, run) : Result<void>();
  progress.wipe();
  if (!sections) return failed("reproduce", sections.error());
  if (!written) return failed("reproduce", written.error());
  bool has_failed = false;
  bool has_figures = false;
  for (const Section& section : *sections) {
    has_figures |= !section.made.figures.empty();
    for (const NotRun& each : section.made.not_run) {
      has_failed |= each.has_failed;
      fmt::print(stderr, "heddle reproduce: {}: {}\n", each.id, each.why);
    }
  }
  if (arguments.json) {
    print_json(*sections, run);
  } else {
    for (const Section& section : *sections)
      if (!section.made.compared.empty()) fmt::print("{}\n", to_text(section.made.compared));
    print_table(*sections);
    for (const std::string& note : all_notes(*sections, run)) fmt::print("note: {}\n", note);
    print_verdicts(*sections);
  }
  const auto verdicts = worst_first(*sections);
  const bool missed = std::ranges::any_of(
      verdicts, [](const ReportedFigure* figure) { return verdict_of(*figure) == Verdict::misses; });
  return missed || has_failed || !has_figures ? 1 : 0;
}

void add_fat_tree_options(CLI::App& reproduce, ReproduceArguments& arguments) {
  const std::string group = fmt::format("{}fat-tree", kOptionsOf);
  reproduce
      .add_option("--packets", arguments.packets,
                  "Sets of the fat-tree report to run in packets, too: half a second each for every method")
      ->check(CLI::Range(0U, 1000U))
      ->capture_default_str()
      ->type_name("SETS")
      ->group(group);
  reproduce
      .add_flag("--full-size", arguments.full_size,
                "These with the report's 1 MiB and 8 processes a node: ten seconds each for every method")
      ->group(group);
}

void add_mpi_options(CLI::App& reproduce, MpiOptions& options) {
  const std::string group = fmt::format("{}mpi", kOptionsOf);
  reproduce.add_option("--rounds", options.rounds, "How often each program runs on either transport")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  reproduce.add_option("--processes", options.processes, "Of each program; of our kernels a power of two")
      ->check(CLI::Range(1U, 4096U))
      ->capture_default_str()
      ->type_name("N")
      ->group(group);
  reproduce.add_option("--size", options.size, "Of our kernels: S, W or A")
      ->check(CLI::IsMember({"S", "W", "A"}).description(""))
      ->capture_default_str()
      ->type_name("SIZE")
      ->group(group);
  reproduce
      .add_option(
          "--programs", options.programs,
          "Run every program of this folder instead, such as cg.A.4 of the NAS Parallel Benchmarks with 4 processes")
      ->type_name("DIR")
      ->group(group);
}

} // namespace

bool Run::wants(std::string_view id) const {
  return leads(only, id) || leads(id, only);
}

std::vector<std::string> notes_of(const Part& part, const Run& run) {
  std::vector<std::string> notes;
  if (!part.note.empty()) notes.push_back(fmt::format("{}: {}", part.ids.front(), part.note));
  for (const auto& [name, value] : run.parameters.changes())
    if (std::ranges::find(part.varies, name) != part.varies.end())
      notes.push_back(fmt::format("{}: {}={} counts only where these figures do not set {} themselves",
                                  part.ids.front(), name, value, name));
  return notes;
}

std::vector<const ReportedFigure*> worst_first(const std::vector<Section>& sections) {
  std::vector<const ReportedFigure*> all;
  for (const Section& section : sections)
    for (const ReportedFigure& figure : section.made.figures)
      if (verdict_of(figure) != Verdict::none) all.push_back(&figure);
  // Where two are as far off, the one that the table has first.
  std::ranges::stable_sort(all, std::greater{},
                           [](const ReportedFigure* figure) { return std::abs(difference_of(*figure)); });
  return all;
}

std::string picture_of_programs(const Reproduction& made) {
  return to_svg("MPI programs on their own transport and over Heddle", made.compared);
}

void add_reproduce(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* reproduce = program.add_subcommand("reproduce", "The figures of the reports, theirs and ours side by side");
  reproduce
      ->add_option("report", arguments->what,
                   "fat-tree, portability, rhinet, scheduling or all; mpi, which runs other people's programs and is "
                   "left out of all")
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
  reproduce->add_option("--html", arguments->html, "Write all of it as one page, index.html, into this folder, too")
      ->type_name("DIR");
  add_json_flag(*reproduce, arguments->json);
  add_fat_tree_options(*reproduce, *arguments);
  add_mpi_options(*reproduce, arguments->mpi);
  reproduce->footer(
      "Exit status 1: a predicted figure is further from the report's than its tolerance, and is no known miss; or a "
      "program has failed.\n\n"
      "Example: heddle reproduce fat-tree --only fat-tree/contiguous --svg charts\n"
      "         heddle reproduce mpi --processes 4 --programs NPB3.4-MPI/bin");
  reproduce->callback([arguments, reproduce, &invocation] {
    const int refused = check_options_of_reports(*reproduce, arguments->what);
    invocation.exit_status = refused != 0 ? refused : run_reproduce(*arguments);
  });
}

} // namespace heddle::tool
