#include "routing/load.hpp"

#include <algorithm>

#include "routing/bound.hpp"

namespace heddle::routing {
namespace {

// Counts one stage after the other, clearing only what was counted.
class Counter {
 public:
  Counter(const Subnet& subnet, const JobHosts& job, const Selection& selection)
      : subnet_(subnet), job_(job), selection_(selection), links_(subnet.fabric), load_(links_.count()) {}

  Result<void> count(const Stage& stage) {
    for (const LinkIndex link : touched_) load_[link] = 0;
    touched_.clear();
    for (const Flow& flow : stage) {
      const Lid lid = lid_of(subnet_, job_, selection_, flow.from, flow.to);
      const bool arrives =
          follow(subnet_, job_.hosts[flow.from], job_.hosts[flow.to], lid, [&](SwitchIndex at, Port port) {
            if (subnet_.fabric.switches[at].ports[port].kind != Peer::Kind::a_switch) return;
            const LinkIndex link = links_.at(at, port);
            if (load_[link]++ == 0) touched_.push_back(link);
          });
      if (!arrives) return std::unexpected(lost(flow, lid));
    }
    std::ranges::sort(touched_);
    return {};
  }

  [[nodiscard]] const std::vector<LinkIndex>& touched() const { return touched_; }
  [[nodiscard]] std::uint32_t load(LinkIndex link) const { return load_[link]; }
  [[nodiscard]] std::uint32_t links() const { return links_.count(); }

 private:
  [[nodiscard]] Error lost(const Flow& flow, Lid lid) const {
    return {.code = ErrorCode::unreachable,
            .fact = "packets from " + subnet_.fabric.hosts[job_.hosts[flow.from]].name + " to " +
                    subnet_.fabric.hosts[job_.hosts[flow.to]].name + " (LID " + std::to_string(lid) +
                    ") do not arrive: no path up and down the tree is left"};
  }

  const Subnet& subnet_;
  const JobHosts& job_;
  const Selection& selection_;
  Links links_;
  std::vector<std::uint32_t> load_;
  std::vector<LinkIndex> touched_;
};

std::uint32_t largest_of(const std::vector<std::uint32_t>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

} // namespace

std::uint32_t LoadReport::overall() const {
  return largest_of(largest);
}

std::uint32_t LoadReport::overall_bound() const {
  return largest_of(bound);
}

Result<LoadReport> check_load(const Subnet& subnet, const JobHosts& job, const Selection& selection,
                              const Pattern& pattern) {
  Counter counter(subnet, job, selection);
  LoadBound bound(subnet.fabric, subnet.up_paths, job);
  LoadReport report;
  Stage stage;
  for (std::size_t i = 0; i < pattern.stages(); ++i) {
    pattern.fill(i, stage);
    if (auto counted = counter.count(stage); !counted) return std::unexpected(std::move(counted).error());
    std::uint32_t largest = 0;
    for (const LinkIndex link : counter.touched()) {
      largest = std::max(largest, counter.load(link));
      if (counter.load(link) > 1) report.hot_spots.push_back({i, link, counter.load(link)});
    }
    report.largest.push_back(largest);
    report.bound.push_back(bound.of(stage));
  }
  return report;
}

Result<std::vector<std::uint32_t>> largest_by_link(const Subnet& subnet, const JobHosts& job,
                                                   const Selection& selection, const Pattern& pattern) {
  Counter counter(subnet, job, selection);
  std::vector<std::uint32_t> largest(counter.links());
  Stage stage;
  for (std::size_t i = 0; i < pattern.stages(); ++i) {
    pattern.fill(i, stage);
    if (auto counted = counter.count(stage); !counted) return std::unexpected(std::move(counted).error());
    for (const LinkIndex link : counter.touched()) largest[link] = std::max(largest[link], counter.load(link));
  }
  return largest;
}

} // namespace heddle::routing
