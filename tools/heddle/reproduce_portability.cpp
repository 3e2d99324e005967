// What a network costs in lines, and of what. Counted by tools/portability at each build; docs/portability.md says how.
#include "portability_counts.hpp"
#include "reproduce.hpp"

#include <nlohmann/json.hpp>

namespace heddle::tool {
namespace {

// 001, table 3: lines that a network needs, and of the whole library with it; and all lines of MPICH's own module for InfiniBand.
struct Lines {
  double own;
  double whole;
};
constexpr Lines kReportInfiniband{6764, 13595};
constexpr Lines kReportTofu{4156, 7096};
constexpr double kMpichModule = 12496;

double percent(double part, double of) {
  return 100 * part / of;
}

void add(Reproduction& made, std::string id, double ours, const char* unit, std::optional<double> theirs = {}) {
  made.figures.push_back(
      {.id = "portability/" + id, .report = theirs, .ours = ours, .unit = unit, .kind = Kind::measured});
}

// Code lines, or all of them.
double library_lines(const nlohmann::json& counts, const char* which) {
  double sum = 0;
  for (const auto& part : counts["parts"]) sum += part[which].get<double>();
  return sum;
}

Result<void> add_networks(Reproduction& made, const Run&) {
  const auto counts = nlohmann::json::parse(kPortabilityCounts);
  const double library = library_lines(counts, "code");
  const double library_all = library_lines(counts, "all");
  const double planning = counts["planning"]["code"];
  for (const auto& [name, network] : counts["networks"].items()) {
    const double own = network["own"]["code"];
    const double own_all = network["own"]["all"];
    std::optional<Lines> report; // the network of the report that the same hardware is
    if (name == "verbs") report = kReportInfiniband;
    if (name == "utofu") report = kReportTofu;
    const auto theirs = [&](auto value) { return report ? std::optional<double>(value(*report)) : std::nullopt; };
    add(made, name + "/share", percent(own, library + own), "%",
        theirs([](const Lines& each) { return percent(each.own, each.whole); }));
    add(made, name + "/lines", own, "lines", theirs([](const Lines& each) { return each.own; }));
    add(made, name + "/with-library/lines", library + own, "lines",
        theirs([](const Lines& each) { return each.whole; }));
    add(made, name + "/with-blank-and-comment/share", percent(own_all, library_all + own_all), "%");
    add(made, name + "/with-blank-and-comment/lines", own_all, "lines");
    add(made, name + "/outside-its-folder/lines", network["outside"], "lines");
    if (name != "verbs") continue;
    add(made, name + "/with-routing/share", percent(own + planning, library + own + planning), "%",
        theirs([](const Lines& each) { return percent(each.own, each.whole); }));
    add(made, name + "/with-routing/lines", own + planning, "lines");
    add(made, name + "/with-routing/with-blank-and-comment/lines", own_all + counts["planning"]["all"].get<double>(),
        "lines");
    add(made, name + "/beside-mpich-module/lines", own, "lines", kMpichModule);
    add(made, name + "/of-mpich-module", percent(own, kMpichModule), "%", percent(kReportInfiniband.own, kMpichModule));
  }
  return {};
}

Result<void> add_parts(Reproduction& made, const Run&) {
  const auto counts = nlohmann::json::parse(kPortabilityCounts);
  for (const auto& [name, lines] : counts["parts"].items())
    add(made, "library/" + name + "/lines", lines["code"], "lines");
  add(made, "library/lines", library_lines(counts, "code"), "lines");
  add(made, "library/with-blank-and-comment/lines", library_lines(counts, "all"), "lines");
  add(made, "routing/lines", counts["planning"]["code"], "lines");
  return {};
}

// They stand in for hardware, so that nothing in the report is like them.
Result<void> add_simulated(Reproduction& made, const Run&) {
  const auto counts = nlohmann::json::parse(kPortabilityCounts);
  for (const auto& [name, lines] : counts["simulated"].items())
    add(made, "simulated/" + name + "/lines", lines["own"]["code"], "lines");
  add(made, "simulated/shared/lines", counts["shared_by_simulated"]["code"], "lines");
  add(made, "simulated/simulator/lines", counts["simulator"]["code"], "lines");
  return {};
}

} // namespace

std::vector<Part> portability_parts() {
  return {{{"portability"}, "Lines that a network needs", {}, add_networks},
          {{"portability/library", "portability/routing"}, "The library that a job on any of them uses", {}, add_parts},
          {{"portability/simulated"},
           "Lines of simulated fabrics: no networks, and not to be compared with any",
           {},
           add_simulated}};
}

} // namespace heddle::tool
