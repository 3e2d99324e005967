// heddle reproduce --html: all figures as one page that needs no other file. What has no value of the report is folded away. Nothing
// depends on colour, and the page is well-formed XML as well, so that scripts can read it.
#include "reproduce.hpp"
#include "reproduce_sources.hpp"
#include "svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace heddle::tool {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Figures of the reports, theirs and ours</title>
<style>
body { max-width: 868px; margin: 16px auto; padding: 0 16px; font: 15px/1.4 sans-serif; color: #000; background: #fff; box-sizing: border-box; }
h2 { margin-top: 2em; border-top: 2px solid #000; padding-top: 0.5em; }
svg { display: block; max-width: 100%; height: auto; margin: 0.5em 0; }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin: 0.5em 0; }
th, td { text-align: left; vertical-align: top; padding: 2px 6px; border-bottom: 1px solid #bbb; }
td.id { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.reason { padding-left: 2em; border-bottom: 2px solid #bbb; }
code { font-size: 13px; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; border: 1px solid #bbb; padding: 4px 8px; margin: 0.5em 0; }
summary { cursor: pointer; }
</style>
</head>
<body>
<h1>Figures of the reports, theirs and ours</h1>
)";

std::string escaped(std::string_view text) {
  return svg_escaped(text);
}

std::string number(double value) {
  return fmt::format("{:.5g}", value);
}

std::string rows_of(const ReportedFigure& figure) {
  const Verdict verdict = verdict_of(figure);
  std::string said(to_string(verdict));
  if (verdict != Verdict::none) said += fmt::format(" ({})", escaped(printed_allowance(figure)));
  std::string rows = fmt::format(
      "<tr><td class=\"id\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>"
      "<td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>\n",
      escaped(figure.id), escaped(printed_report(figure)), number(figure.ours), escaped(figure.unit),
      printed_difference(figure), to_string(figure.kind), verdict == Verdict::holds ? said : "<b>" + said + "</b>");
  if (const KnownMiss* known = known_miss(figure.id); verdict == Verdict::known_miss)
    rows += fmt::format("<tr><td class=\"reason\" colspan=\"7\">Known from {:g} to {:g}. Why: {}</td></tr>\n",
                        known->least, known->most, escaped(known->reason));
  return rows;
}

std::string table_of(const std::vector<const ReportedFigure*>& figures) {
  std::string html =
      "<table>\n<tr><th>figure</th><th class=\"number\">report</th><th class=\"number\">ours</th><th>unit</th>"
      "<th class=\"number\">difference</th><th>kind</th><th>verdict (allowed)</th></tr>\n";
  for (const ReportedFigure* figure : figures) html += rows_of(*figure);
  return html + "</table>\n";
}

// Of everything that could miss, with what makes it alone.
std::string worst_of(const std::vector<const ReportedFigure*>& verdicts, std::string_view command) {
  std::string html =
      "<table>\n<tr><th class=\"number\">difference</th><th class=\"number\">report</th><th class=\"number\">ours</th>"
      "<th>verdict (allowed)</th><th>command</th></tr>\n";
  for (const ReportedFigure* figure : verdicts)
    html += fmt::format(
        "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{} {}</td><td>{} ({})</td>"
        "<td class=\"id\"><code>{} --only {}</code></td></tr>\n",
        printed_difference(*figure), escaped(printed_report(*figure)), number(figure->ours), escaped(figure->unit),
        to_string(verdict_of(*figure)), escaped(printed_allowance(*figure)), escaped(command), escaped(figure->id));
  return html + "</table>\n";
}

std::string section_of(const Section& section, const Run& run, std::string_view command) {
  std::vector<const ReportedFigure*> compared, alone;
  for (const ReportedFigure& figure : section.made.figures)
    (printed_report(figure).empty() ? alone : compared).push_back(&figure);
  const std::string_view id = section.part.ids.front();
  std::string html = fmt::format("<h2 id=\"{}\">{}</h2>\n<pre>", id, escaped(section.part.title));
  for (const std::string_view each : section.part.ids) html += fmt::format("{} --only {}\n", escaped(command), each);
  html += "</pre>\n";
  if (!section.part.models.empty()) {
    html += "<p>Told:";
    for (const std::string_view model : section.part.models)
      html += fmt::format(" <a href=\"#parameters-{0}\">parameters of {0}</a>", model);
    html += "</p>\n";
  }
  for (const std::string& note : notes_of(section.part, run)) html += fmt::format("<p>{}</p>\n", escaped(note));
  if (!section.made.compared.empty()) html += picture_of_programs(section.made);
  for (const Chart& chart : section.made.charts) html += to_svg(chart);
  for (const NotRun& each : section.made.not_run)
    html += fmt::format("<p><b>Not run</b>: {}: {}</p>\n", escaped(each.id), escaped(each.why));
  if (!compared.empty()) html += table_of(compared);
  if (!alone.empty())
    html += fmt::format("<details><summary>{} figures that the report has no value of</summary>\n{}</details>\n",
                        alone.size(), table_of(alone));
  return html;
}

// How far figures move with what has no source.
std::string movements_as_table(const std::vector<Movement>& movements) {
  if (movements.empty()) return "";
  std::string html = "<p>How far figures move when a parameter without a source is halved and doubled:</p>\n<table>\n";
  const auto works = std::ranges::find_if(movements, [](const Movement& each) { return each.why_not.empty(); });
  const std::size_t columns = works == movements.end() ? 1 : works->change.size();
  html += "<tr><th>parameter</th>";
  for (std::size_t i = 0; works != movements.end() && i < columns; ++i)
    html += fmt::format("<th class=\"number\">{}</th>", escaped(works->change[i].first));
  html += "</tr>\n";
  for (const Movement& each : movements) {
    html += fmt::format("<tr><td class=\"id\">{}</td>", escaped(each.parameter));
    if (!each.why_not.empty()) html += fmt::format("<td colspan=\"{}\">{}</td>", columns, escaped(each.why_not));
    for (const auto& [name, change] : each.change)
      html += fmt::format("<td class=\"number\">{:+.1f} %</td>", 100 * change);
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

Result<std::string> parameters_of(std::string_view model, const Run& run) {
  std::string html = fmt::format(
      "<h2 id=\"parameters-{0}\">Parameters of {0}</h2>\n"
      "<pre>heddle reproduce --parameters --only {0}.</pre>\n"
      "<table>\n<tr><th>parameter</th><th class=\"number\">value</th><th>source</th></tr>\n",
      model);
  for (const Parameter& each : run.parameters.list())
    if (each.name.starts_with(fmt::format("{}.", model)))
      html += fmt::format("<tr><td class=\"id\">{}</td><td class=\"number\">{} {}</td><td><b>{}</b>: {}</td></tr>\n",
                          escaped(each.name), escaped(each.value), escaped(each.unit), to_string(each.origin),
                          escaped(each.source));
  const auto movements = movements_of(run, model);
  if (!movements) return std::unexpected(movements.error());
  return html + "</table>\n" + movements_as_table(*movements);
}

std::string summary_of(const std::vector<Section>& sections, std::string_view command) {
  const std::vector<const ReportedFigure*> verdicts = worst_first(sections);
  std::vector<const ReportedFigure*> missed;
  for (const ReportedFigure* figure : verdicts)
    if (verdict_of(*figure) != Verdict::holds) missed.push_back(figure);
  std::string html = fmt::format(
      "<p>{} predicted figures have a value or a bound of the report; {} are within their tolerance, {} are not.</p>\n",
      verdicts.size(), verdicts.size() - missed.size(), missed.size());
  if (!missed.empty()) html += "<p>Not within it, the furthest first:</p>\n" + table_of(missed);
  if (!verdicts.empty())
    html += "<details><summary>All of them, the furthest first, with their commands</summary>\n" +
            worst_of(verdicts, command) + "</details>\n";
  html +=
      "<table>\n<tr><th>kind</th><th>means</th></tr>\n"
      "<tr><td>input</td><td>what the model was told, beside the report's</td></tr>\n"
      "<tr><td>fitted</td><td>a parameter was chosen so that it comes out: its agreement says nothing</td></tr>\n"
      "<tr><td>predicted</td><td>comes out of a model that was told nothing of the report's value</td></tr>\n"
      "<tr><td>measured</td><td>on this machine, or counted in these sources</td></tr>\n"
      "<tr><td>contrast</td><td>the report's value is of another machine: nothing of ours is to come near "
      "it</td></tr>\n</table>\n"
      "<p>The reports are named by numbers, and places in them by section, figure or table:</p>\n<table>\n";
  for (const ReportSource& each : kReportSources)
    html += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", each.number, escaped(each.text));
  html +=
      "</table>\n<p>The command at the head of a section makes all of it; that of one figure ends in its "
      "id.</p>\n<ul>\n";
  for (const Section& section : sections)
    html += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.part.ids.front(), escaped(section.part.title));
  return html + "</ul>\n";
}

} // namespace

Result<std::string> reproduction_page(const std::vector<Section>& sections, const Run& run, std::string_view command) {
  std::string html = kHead + summary_of(sections, command);
  std::set<std::string_view> models;
  for (const Section& section : sections) {
    html += section_of(section, run, command);
    models.insert(section.part.models.begin(), section.part.models.end());
  }
  for (const std::string_view model : models) {
    const auto parameters = parameters_of(model, run);
    if (!parameters) return std::unexpected(parameters.error());
    html += *parameters;
  }
  return html + "</body>\n</html>\n";
}

} // namespace heddle::tool
