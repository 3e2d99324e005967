// heddle reproduce: the figures of the reports, theirs and ours side by side.
#include "reproduce.hpp"
#include "base/nearest.hpp"
#include "route.hpp"

#include <fmt/core.h>

#include <array>

namespace heddle::tool {
namespace {

struct Report {
  std::string_view name;
  Result<Reproduction> (*reproduce)();
};

// A new report: a file reproduce_NAME.cpp, a declaration in reproduce.hpp, a line here.
constexpr std::array kReports{
    Report{"fat-tree", reproduce_fat_tree},
    Report{"portability", reproduce_portability},
    Report{"rhinet", reproduce_rhinet},
    Report{"scheduling", reproduce_scheduling},
};

struct ReproduceArguments {
  std::string what = "all";
  std::string svg; // folder
  std::uint32_t packets = 20;
  bool json = false;
};

Result<std::vector<Report>> chosen(const std::string& what) {
  std::vector<Report> reports;
  std::vector<std::string_view> names{"all"};
  for (const Report& report : kReports) {
    names.push_back(report.name);
    if (what == "all" || what == report.name) reports.push_back(report);
  }
  if (!reports.empty()) return reports;
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument,
            .fact = fmt::format("no report is called '{}', did you mean {}?", what, base::nearest(what, names))});
}

// Differences are relative only where there is something to relate them to.
std::string difference(const ReportedFigure& figure) {
  if (!figure.report || *figure.report == 0) return "";
  return fmt::format("{:+.1f} %", 100 * (figure.ours / *figure.report - 1));
}

void print_table(const Reproduction& all) {
  std::size_t width = 0;
  for (const ReportedFigure& figure : all.figures) width = std::max(width, figure.id.size());
  fmt::print("{:<{}} {:>10} {:>10} {:<6} {:>10}\n", "figure", width, "report", "ours", "unit", "difference");
  for (const ReportedFigure& figure : all.figures)
    fmt::print("{:<{}} {:>10} {:>10.5g} {:<6} {:>10}\n", figure.id, width,
               figure.report ? fmt::format("{:.5g}", *figure.report) : "-", figure.ours, figure.unit,
               difference(figure));
}

void print_json(const Reproduction& all) {
  Json figures = Json::array();
  for (const ReportedFigure& figure : all.figures)
    figures.push_back({{"id", figure.id},
                       {"report", figure.report ? Json(*figure.report) : Json()},
                       {"ours", figure.ours},
                       {"unit", figure.unit}});
  fmt::print("{}\n", Json{{"figures", std::move(figures)}}.dump());
}

Result<void> draw(const std::vector<Chart>& charts, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Chart& chart : charts) files.emplace_back(fmt::format("{}/{}.svg", folder, chart.file), to_svg(chart));
  return write_whole_files(files);
}

int run_reproduce(const ReproduceArguments& arguments) {
  const auto reports = chosen(arguments.what);
  if (!reports) return failed("reproduce", reports.error());
  // Before the minutes that the figures take.
  if (!arguments.svg.empty())
    if (auto made = make_folder(arguments.svg); !made) return failed("reproduce", made.error());
  Reproduction all;
  for (const Report& report : *reports) {
    auto one = report.reproduce();
    if (!one) return failed("reproduce", one.error());
    if (report.name == "fat-tree" && arguments.packets > 0)
      if (auto added = add_fat_tree_packets(*one, arguments.packets); !added) return failed("reproduce", added.error());
    all.figures.insert(all.figures.end(), one->figures.begin(), one->figures.end());
    all.charts.insert(all.charts.end(), one->charts.begin(), one->charts.end());
  }
  if (!arguments.svg.empty())
    if (auto drawn = draw(all.charts, arguments.svg); !drawn) return failed("reproduce", drawn.error());
  if (arguments.json)
    print_json(all);
  else
    print_table(all);
  return 0;
}

} // namespace

void add_reproduce(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<ReproduceArguments>();
  CLI::App* reproduce = program.add_subcommand("reproduce", "The figures of the reports, theirs and ours side by side");
  reproduce->add_option("report", arguments->what, "fat-tree, portability, rhinet, scheduling or all")
      ->capture_default_str()
      ->type_name("REPORT");
  reproduce->add_option("--svg", arguments->svg, "Draw the charts into this folder, too")->type_name("DIR");
  reproduce
      ->add_option("--packets", arguments->packets,
                   "Sets of the fat-tree report to run in packets, too: half a second each for every method")
      ->check(CLI::Range(0U, 1000U))
      ->capture_default_str()
      ->type_name("SETS");
  add_json_flag(*reproduce, arguments->json);
  reproduce->footer("Example: heddle reproduce fat-tree --svg charts");
  reproduce->callback([arguments, &invocation] { invocation.exit_status = run_reproduce(*arguments); });
}

} // namespace heddle::tool
