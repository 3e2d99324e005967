#include "reproduce_figure.hpp"

#include <fmt/core.h>

#include <cmath>

namespace heddle::tool {
namespace {

constexpr double kRounding = 1e-9;
constexpr double kErrors = 3; // standard errors of a sample

double allowed(const ReportedFigure& figure) {
  return figure.tolerance * std::abs(*figure.report) + kErrors * figure.error + kRounding;
}

bool holds(const ReportedFigure& figure) {
  return figure.below ? figure.ours < *figure.below : std::abs(figure.ours - *figure.report) <= allowed(figure);
}

} // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::input: return "input";
    case Kind::fitted: return "fitted";
    case Kind::predicted: return "predicted";
    case Kind::measured: return "measured";
    case Kind::contrast: return "contrast";
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

Verdict verdict_of(const ReportedFigure& figure) {
  if (figure.kind != Kind::predicted || (!figure.report && !figure.below)) return Verdict::none;
  if (holds(figure)) return Verdict::holds;
  const KnownMiss* known = known_miss(figure.id);
  return known != nullptr && figure.ours >= known->least && figure.ours <= known->most ? Verdict::known_miss
                                                                                       : Verdict::misses;
}

std::string printed_report(const ReportedFigure& figure) {
  if (figure.below) return fmt::format("< {:.5g}", *figure.below);
  return figure.report ? fmt::format("{:.5g}", *figure.report) : "";
}

std::string printed_allowance(const ReportedFigure& figure) {
  if (figure.below) return fmt::format("below {:.5g}", *figure.below);
  if (figure.is_count && figure.report) {
    const double least = std::ceil(*figure.report - allowed(figure));
    const double most = std::floor(*figure.report + allowed(figure));
    return least == most ? fmt::format("exactly {:.0f}", least) : fmt::format("{:.0f} to {:.0f}", least, most);
  }
  const std::string errors = figure.error > 0 ? fmt::format(" + {:.0f} x {:.3g}", kErrors, figure.error) : "";
  return fmt::format("tolerance {:.0f} %{}", 100 * figure.tolerance, errors);
}

std::string printed_difference(const ReportedFigure& figure) {
  if (!figure.report || *figure.report == 0) return "";
  if (figure.is_change) return fmt::format("{:+.1f} pts", figure.ours - *figure.report);
  return fmt::format("{:+.1f} %", 100 * difference_of(figure));
}

double difference_of(const ReportedFigure& figure) {
  if (figure.below) return *figure.below > 0 && figure.ours > *figure.below ? figure.ours / *figure.below - 1 : 0;
  return figure.report && *figure.report != 0 ? figure.ours / *figure.report - 1 : 0;
}

} // namespace heddle::tool
