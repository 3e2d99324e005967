// The ways to choose a path for every pair of a job.
//   conventional  destination host i by up-path i mod K: what OpenSM's ftree does with one LID per host
//   node          per destination, from its number within the job (Naruse et al., "Performance evaluation of all-to-all ...")
//   pair          per pair, repaired stage by stage (Naruse et al., "Proposal of hot-spot avoidance technique ...")
//   colouring     per pair, by edge colouring: the smallest largest load there is; on an intact two-level tree without
//                 oversubscription no hot spot at any stage, for every set of nodes
// K is the number of up-paths: of root switches, on a K-ary-2-tree.
#pragma once

#include <array>

#include "routing/pattern.hpp"
#include "routing/selection.hpp"

namespace heddle::routing {

enum class Method : std::uint8_t { conventional, node, pair, colouring };
inline constexpr std::array kMethods{Method::conventional, Method::node, Method::pair, Method::colouring};

std::string_view to_string(Method method);
// bad_argument suggests the nearest name.
Result<Method> parse_method(std::string_view text);

// bad_argument: `node` and `pair` know two levels only, and need a LID for every up-path.
Result<Selection> select(const Subnet& subnet, const JobHosts& job, Method method, const Pattern& pattern);

// The root-switch tables of the reports, by themselves: leaf of each local node -> up-path of (s, d) at [s * nodes + d].
std::vector<UpPath> node_table(std::span<const SwitchIndex> leaves, std::uint32_t k);
std::vector<UpPath> pair_table(std::span<const SwitchIndex> leaves, std::uint32_t k);

// `colouring`, using only some of the up-paths where `allowed` is not empty.
Selection select_colouring(const Subnet& subnet, const JobHosts& job, const Pattern& pattern,
                           const std::vector<bool>& allowed = {});

} // namespace heddle::routing
