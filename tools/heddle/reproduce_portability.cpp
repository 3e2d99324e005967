// What a new network costs in lines, as a share of the library that it makes usable. Counted by tools/portability at each build.
#include "portability_counts.hpp"
#include "reproduce.hpp"

#include <nlohmann/json.hpp>

namespace heddle::tool {
namespace {

double percent(double part, double of) {
  return 100 * part / of;
}

} // namespace

Result<Reproduction> reproduce_portability() {
  // Against 100% of the module that another library needs for the first (12,496 lines).
  constexpr double kReportInfiniband = 50.2;
  constexpr double kReportTofu = 58.6;
  const auto counts = nlohmann::json::parse(kPortabilityCounts);
  const double library = counts["library"];
  const double shared = counts["simulated_translators_share"];
  Reproduction made;
  for (const auto& [name, lines] : counts["networks"].items()) {
    const double own = lines;
    std::optional<double> report;
    if (name.ends_with("infiniband")) report = kReportInfiniband;
    if (name.ends_with("tofu")) report = kReportTofu;
    made.figures.push_back(
        {.id = "portability/" + name, .report = report, .ours = percent(own, library + own), .unit = "%"});
    made.figures.push_back({.id = "portability/" + name + "/lines", .report = {}, .ours = own, .unit = "lines"});
    if (name.starts_with("simulated/"))
      made.figures.push_back({.id = "portability/" + name + "/with-what-simulated-ones-share",
                              .report = report,
                              .ours = percent(own + shared, library + own + shared),
                              .unit = "%"});
  }
  made.figures.push_back({.id = "portability/library/lines", .report = {}, .ours = library, .unit = "lines"});
  return made;
}

} // namespace heddle::tool
