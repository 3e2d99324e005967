// What the tests of this room share: subnets by name, node sets by lot.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"

namespace heddle::routing::testing {

inline Fabric fabric_of(std::string_view tree, std::string_view failed = "") {
  auto shape = parse_tree(tree);
  EXPECT_TRUE(shape) << shape.error().message();
  Fabric fabric = build_tree(shape.value());
  if (!failed.empty()) {
    const auto done = fail(fabric, failed);
    EXPECT_TRUE(done) << done.error().message();
  }
  return fabric;
}

inline Subnet subnet_of(std::string_view tree, std::optional<std::uint32_t> lmc = {}, std::string_view failed = "",
                        const LidRule& rule = kConventionalLids) {
  auto subnet = make_subnet(fabric_of(tree, failed), lmc, rule);
  EXPECT_TRUE(subnet) << subnet.error().message();
  return std::move(subnet.value());
}

inline JobHosts job_of(const Subnet& subnet, std::string_view nodes) {
  return make_job(subnet.fabric, parse_node_list(nodes).value()).value();
}

// `count` of the hosts that are present.
inline JobHosts random_job(const Subnet& subnet, std::size_t count, std::mt19937& dice) {
  std::vector<HostIndex> hosts = whole_job(subnet.fabric).hosts;
  std::ranges::shuffle(hosts, dice);
  hosts.resize(std::min(count, hosts.size()));
  return make_job(subnet.fabric, hosts).value();
}

inline LoadReport load_of(const Subnet& subnet, const JobHosts& job, Method method, const Pattern& pattern) {
  const auto selection = select(subnet, job, method, pattern);
  EXPECT_TRUE(selection) << selection.error().message();
  auto report = check_load(subnet, job, selection.value(), pattern);
  EXPECT_TRUE(report) << report.error().message();
  return std::move(report.value());
}

inline LoadReport shift_load(const Subnet& subnet, const JobHosts& job, Method method) {
  return load_of(subnet, job, method, Pattern::shift(job.nodes()));
}

} // namespace heddle::routing::testing
