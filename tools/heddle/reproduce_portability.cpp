// What a new network costs in lines, as a share of the library that it makes usable. Counted by tools/portability at each build.
#include "portability_counts.hpp"
#include "reproduce.hpp"

#include <nlohmann/json.hpp>

namespace heddle::tool {
namespace {

double percent(double part, double of) {
  return 100 * part / of;
}

Result<void> add_lines(Reproduction& made, const Run&) {
  // 001, table 3: lines that a network needs, and of the whole library with it; and all lines of MPICH's own module for InfiniBand.
  struct Lines {
    double own;
    double whole;
  };
  constexpr Lines kReportInfiniband{6764, 13595};
  constexpr Lines kReportTofu{4156, 7096};
  constexpr double kMpichModule = 12496;
  const auto counts = nlohmann::json::parse(kPortabilityCounts);
  const double library = counts["library"];
  const double shared = counts["simulated_translators_share"];
  for (const auto& [name, lines] : counts["networks"].items()) {
    const double own = lines;
    std::optional<Lines> report;
    if (name.ends_with("infiniband")) report = kReportInfiniband;
    if (name.ends_with("tofu")) report = kReportTofu;
    const auto add = [&](std::string_view what, std::optional<double> theirs, double ours, const char* unit) {
      made.figures.push_back({.id = "portability/" + name + std::string(what),
                              .report = theirs,
                              .ours = ours,
                              .unit = unit,
                              .kind = Kind::measured});
    };
    const auto of_report = [&](auto value) { return report ? std::optional<double>(value(*report)) : std::nullopt; };
    const auto share = of_report([](const Lines& each) { return percent(each.own, each.whole); });
    add("", share, percent(own, library + own), "%");
    add("/lines", of_report([](const Lines& each) { return each.own; }), own, "lines");
    add("/with-library/lines", of_report([](const Lines& each) { return each.whole; }), library + own, "lines");
    if (name.ends_with("infiniband"))
      add("/of-mpich-module", of_report([&](const Lines& each) { return percent(each.own, kMpichModule); }),
          percent(own, kMpichModule), "%");
    if (name.starts_with("simulated/"))
      add("/with-what-simulated-ones-share", share, percent(own + shared, library + own + shared), "%");
  }
  made.figures.push_back(
      {.id = "portability/library/lines", .report = {}, .ours = library, .unit = "lines", .kind = Kind::measured});
  return {};
}

} // namespace

std::vector<Part> portability_parts() {
  return {{{"portability"}, "Lines that a network needs", {}, add_lines}};
}

} // namespace heddle::tool
