// heddle reproduce --parameters: the table of parameters, and what follows from those that have no source.
#include "base/refusal.hpp"
#include "reproduce.hpp"
#include "reproduce_sources.hpp"
#include "subcommands.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <expected>

namespace heddle::tool {
namespace {

struct Model {
  std::string_view name;
  Result<Headline> (*headline)(const Parameters& parameters);
};
constexpr std::array kModels{Model{"fat-tree", fat_tree_headline},     Model{"packets", infiniband_headline},
                             Model{"infiniband", infiniband_headline}, Model{"tofu", tofu_headline},
                             Model{"rhinet", rhinet_headline},         Model{"library", library_headline}};

// The value times `factor` in the same unit; else why it has none.
std::expected<std::string, std::string> scaled(const Parameter& parameter, double factor) {
  double number = 0;
  const char* const end = parameter.value.data() + parameter.value.size();
  const auto [rest, status] = std::from_chars(parameter.value.data(), end, number);
  if (status != std::errc{}) return std::unexpected(fmt::format("'{}' is no number", parameter.value));
  if (number == 0) return std::unexpected("0 stays 0");
  const double value = number * factor;
  if (rest == end && std::floor(value) != value) return std::unexpected(fmt::format("{:g} is not whole", value));
  return fmt::format("{:.15g}{}", value, std::string_view(rest, static_cast<std::size_t>(end - rest)));
}

std::vector<Parameter> listed(const Run& run, std::string_view only) {
  std::vector<Parameter> all = run.parameters.list();
  std::erase_if(all, [&](const Parameter& each) { return !each.name.starts_with(only); });
  return all;
}

Result<std::vector<Movement>> movements(const Run& run, const Model& model, const std::vector<Parameter>& parameters) {
  const auto unsourced = [&](const Parameter& each) {
    return each.origin == Origin::chosen && each.name.starts_with(fmt::format("{}.", model.name));
  };
  if (std::ranges::none_of(parameters, unsourced)) return {};
  const auto before = model.headline(run.parameters);
  if (!before) return std::unexpected(before.error());
  std::vector<Movement> all;
  for (const Parameter& parameter : parameters) {
    if (!unsourced(parameter)) continue;
    for (const double factor : {0.5, 2.0}) {
      const auto value = scaled(parameter, factor);
      Movement& movement =
          all.emplace_back(Movement{fmt::format("{}={}", parameter.name, value ? *value : parameter.value), {}, {}});
      run.at(movement.parameter);
      if (!value) {
        movement.why_not = fmt::format("cannot be {}: {}", factor < 1 ? "halved" : "doubled", value.error());
        continue;
      }
      const auto changed = run.parameters.with(parameter.name, *value);
      const auto after = changed ? model.headline(*changed) : Result<Headline>(std::unexpected(changed.error()));
      if (!after) {
        movement.why_not = fmt::format("cannot work: {}", after.error().fact);
        continue;
      }
      for (std::size_t i = 0; i < after->size(); ++i)
        movement.change.emplace_back((*after)[i].first, (*after)[i].second / (*before)[i].second - 1);
    }
  }
  return all;
}

void print_text(const std::vector<Parameter>& parameters) {
  std::size_t width = 0;
  for (const Parameter& each : parameters) width = std::max(width, each.name.size());
  fmt::print("{:<{}} {:>16}  {}\n", "parameter", width, "value", "source");
  for (const Parameter& each : parameters)
    fmt::print("{:<{}} {:>16}  {}: {}\n", each.name, width,
               each.unit.empty() ? each.value : fmt::format("{} {}", each.value, each.unit), to_string(each.origin),
               each.source);
  for (const ReportSource& each : kReportSources) fmt::print("{}: {}\n", each.number, each.text);
}

void print_movements(const Model& model, const std::vector<Movement>& all) {
  if (all.empty()) return;
  fmt::print("\n{}: how far figures move when a parameter without a source is halved and doubled\n", model.name);
  for (const Movement& movement : all) {
    fmt::print("  {:<34}", movement.parameter);
    for (const auto& [name, change] : movement.change) fmt::print(" {} {:+.1f} %", name, 100 * change);
    fmt::print("{}{}\n", movement.why_not.empty() ? "" : " ", movement.why_not);
  }
}

} // namespace

Result<std::vector<Movement>> movements_of(const Run& run, std::string_view name) {
  const auto* const model = std::ranges::find(kModels, name, &Model::name);
  if (model == kModels.end()) return {};
  return movements(run, *model, listed(run, fmt::format("{}.", name)));
}

int print_parameters(const Run& run, std::string_view only, bool json) {
  const std::vector<Parameter> all_parameters = listed(run, only);
  if (all_parameters.empty())
    return failed("reproduce", bad_argument(fmt::format("--only: no parameter's name begins with '{}'", only)));
  Json parameters = Json::array();
  for (const Parameter& each : all_parameters)
    parameters.push_back({{"name", each.name},
                          {"value", each.value},
                          {"unit", each.unit},
                          {"origin", to_string(each.origin)},
                          {"source", each.source}});
  if (!json) print_text(all_parameters);
  Json sensitivity = Json::array();
  for (const Model& model : kModels) {
    const auto all = movements(run, model, all_parameters);
    if (!all) return failed("reproduce", all.error());
    if (!json) print_movements(model, *all);
    for (const Movement& movement : *all) {
      Json change = Json::object();
      for (const auto& [name, value] : movement.change) change[name] = value;
      sensitivity.push_back({{"parameter", movement.parameter}, {"change", std::move(change)}});
      if (!movement.why_not.empty()) sensitivity.back()["why_not"] = movement.why_not;
    }
  }
  if (json)
    fmt::print("{}\n", Json{{"parameters", std::move(parameters)}, {"sensitivity", std::move(sensitivity)}}.dump());
  return 0;
}

} // namespace heddle::tool
