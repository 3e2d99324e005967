// By which paths the puts of a pattern go, on a network that has two to each peer.
#include "pattern/planner.hpp"

#include <gtest/gtest.h>

#include <set>

namespace heddle::pattern {
namespace {

class TwoPaths final : public ir::Translator, public ir::Paths {
 public:
  explicit TwoPaths(bool knows_links) : knows_links_(knows_links) {}

  [[nodiscard]] std::string_view name() const override { return "two paths"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Facets facets() override { return {.paths = this}; }
  [[nodiscard]] ir::Resources resources() const override {
    return {.engines = 4, .receive_engines = 4, .engine_rate = 1, .node_rate = 4};
  }
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 2; }
  // The first path of each peer's takes one and the same cable, the second one of its own.
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer peer, std::uint32_t path) const override {
    if (!knows_links_) return {};
    return {{.link = path == 0 ? 0 : 1 + static_cast<std::uint32_t>(peer), .rate = 1}};
  }
  [[nodiscard]] std::uint64_t location() const override { return 0; }
  void choose_path(ir::Peer, std::uint32_t) override {}

  // Nothing is sent.
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t) override { return ir::ExposedMemory{}; }
  void deallocate(const ir::ExposedMemory&) override {}
  Result<ir::RemotePlace> expose(std::span<std::byte>) override { return ir::RemotePlace{}; }
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::RemotePlace> attach(ir::Peer, const ir::Address&) override { return ir::RemotePlace{}; }
  void detach(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command>) override { return 0; }
  std::size_t poll(std::span<ir::Event>) override { return 0; }

 private:
  bool knows_links_;
  ir::Capabilities capabilities_{};
};

// Of puts to four peers.
std::set<std::uint32_t> paths_planned(bool knows_links) {
  TwoPaths network(knows_links);
  engine::ScheduleQueue queue(network);
  Plan plan;
  for (std::uint32_t peer = 0; peer < 4; ++peer) {
    plan.items.push_back({.kind = Declared::Kind::send,
                          .rank = peer + 1,
                          .tag = 0,
                          .offset = 0,
                          .source = {},
                          .target = {},
                          .hint = {}});
    Partner partner;
    partner.rank = peer + 1;
    partner.queue = &queue;
    plan.partners.push_back(partner);
    Out out;
    out.item = out.partner = peer;
    out.bytes = 1 << 20;
    plan.outs.push_back(std::move(out));
  }
  EXPECT_TRUE(plan_outs_onto_engines(plan, "sharing", false));
  std::set<std::uint32_t> paths;
  for (const Out& out : plan.outs) paths.insert(out.path);
  return paths;
}

TEST(PatternPlanner, LeavesThePathToANetworkWhoseLinksItDoesNotKnow) {
  EXPECT_EQ(paths_planned(false), std::set{ir::kAnyPath});
}

TEST(PatternPlanner, TakesPathsApartWhereTheirLinksAreKnown) {
  EXPECT_EQ(paths_planned(true), (std::set<std::uint32_t>{0, 1}));
}

} // namespace
} // namespace heddle::pattern
