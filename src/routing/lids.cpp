#include "routing/lids.hpp"

#include <bit>

#include "base/refusal.hpp"

namespace heddle::routing {
namespace {

std::uint64_t largest_lid(const Fabric& fabric, std::uint32_t lmc) {
  return ((std::uint64_t{fabric.hosts.size()} + 1) << lmc) + fabric.switches.size() - 1;
}

Error too_many(const Fabric& fabric, std::uint32_t lmc) {
  return {.code = ErrorCode::bad_argument,
          .fact = std::to_string(fabric.hosts.size()) + " hosts with lmc " + std::to_string(lmc) + " and " +
                  std::to_string(fabric.switches.size()) + " switches need LIDs up to " +
                  std::to_string(largest_lid(fabric, lmc)) + ", a subnet has them up to " +
                  std::to_string(kLargestUnicastLid),
          .remedy = lmc == 0 ? "use fewer hosts" : "use a smaller lmc"};
}

// Why `plan` has fewer LIDs than up-paths.
std::string limit_of(const Fabric& fabric, const LidPlan& plan, bool chosen_by_user) {
  if (plan.complete()) return "";
  std::string text = "lmc " + std::to_string(plan.lmc) + " gives each host " + std::to_string(plan.per_host()) +
                     " LIDs for " + std::to_string(plan.up_paths) + " up-paths";
  if (chosen_by_user) return text + ", as asked";
  if (plan.lmc == kLargestLmc) return text + ": InfiniBand has no lmc above " + std::to_string(kLargestLmc);
  return text + ": lmc " + std::to_string(plan.lmc + 1) + " would need LIDs up to " +
         std::to_string(largest_lid(fabric, plan.lmc + 1)) + ", a subnet has them up to " +
         std::to_string(kLargestUnicastLid);
}

} // namespace

Result<LidPlan> plan_lids(const Fabric& fabric, const UpPaths& up_paths, std::optional<std::uint32_t> lmc,
                          const LidRule& rule) {
  LidPlan plan{.hosts = static_cast<std::uint32_t>(fabric.hosts.size()),
               .switches = static_cast<std::uint32_t>(fabric.switches.size()),
               .up_paths = up_paths.count(),
               .rule = rule};
  if (lmc && *lmc > kLargestLmc)
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = "lmc " + std::to_string(*lmc) + " is out of range: expected 0 to " + std::to_string(kLargestLmc)});
  if (lmc) {
    plan.lmc = *lmc;
  } else {
    plan.lmc = std::min(kLargestLmc, static_cast<std::uint32_t>(std::bit_width(up_paths.count() - 1)));
    while (plan.lmc > 0 && largest_lid(fabric, plan.lmc) > kLargestUnicastLid) --plan.lmc;
  }
  if (largest_lid(fabric, plan.lmc) > kLargestUnicastLid) return std::unexpected(too_many(fabric, plan.lmc));
  plan.limit = limit_of(fabric, plan, lmc.has_value());
  if (!rule.spread && !plan.complete())
    return refuse("the report's rule needs a LID for every up-path, but " + plan.limit, "use the conventional rule");
  return plan;
}

} // namespace heddle::routing
