#include "route_picture.hpp"
#include "svg.hpp"

#include <algorithm>

namespace heddle::tool {
namespace tree_picture {
namespace {

using routing::Fabric;
using routing::SwitchIndex;

constexpr double kMargin = 24;
constexpr double kTop = 64;
constexpr double kStorey = 150; // between two levels
constexpr double kHostStep = 20;
constexpr std::size_t kMostHosts = 128;

// From none to many flows at once.
constexpr std::array kHeat{"#dddddd", "#4477aa", "#ee8866", "#cc3311"};

class Drawing {
 public:
  explicit Drawing(const Fabric& fabric)
      : fabric_(fabric),
        width_(2 * kMargin + kHostStep * static_cast<double>(std::max<std::size_t>(fabric.hosts.size(), 24))),
        height_(kTop + kStorey * (fabric.levels - 1) + 110) {}

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return height_; }
  [[nodiscard]] double across(SwitchIndex index) const {
    const std::uint32_t level = fabric_.switches[index].level;
    const SwitchIndex first = fabric_.first_of_level(level);
    const auto count = static_cast<double>(fabric_.first_of_level(level + 1) - first);
    return kMargin + (index - first + 0.5) / count * (width_ - 2 * kMargin);
  }
  [[nodiscard]] double down(std::uint32_t level) const { return kTop + kStorey * (fabric_.levels - 1 - level); }

  // Way up left of the way down.
  [[nodiscard]] std::string link(SwitchIndex from, SwitchIndex to, std::uint32_t load) const {
    const std::uint32_t level = fabric_.switches[from].level;
    const bool up = fabric_.switches[to].level > level;
    const double aside = up ? -2.5 : 2.5;
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"/>\n",
        across(from) + aside, down(level), across(to) + aside, down(fabric_.switches[to].level),
        kHeat[std::min<std::size_t>(load, kHeat.size() - 1)], 1 + std::min(load, 4U));
  }
  [[nodiscard]] std::string box(SwitchIndex index) const {
    const routing::Switch& the_switch = fabric_.switches[index];
    const double x = across(index);
    const double y = down(the_switch.level);
    return fmt::format(
               "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"56\" height=\"22\" rx=\"4\" fill=\"white\" "
               "stroke=\"#333\"/>\n",
               x - 28, y - 11) +
           svg_text(x, y + 4, "middle", the_switch.name);
  }
  [[nodiscard]] std::string host(std::uint32_t index, double place, bool taken) const {
    const SwitchIndex leaf = fabric_.hosts[index].leaf;
    const double x = across(leaf) + place * 13;
    const double y = down(0) + 42;
    return fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{3:.1f}\" stroke=\"#dddddd\"/>\n"
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"5\" fill=\"{4}\" stroke=\"#333\"/>\n",
        x, y, across(leaf), down(0) + 11, taken ? "#333" : "white");
  }

 private:
  const Fabric& fabric_;
  double width_;
  double height_;
};

std::string links_of(const Fabric& fabric, const Drawing& drawing, const std::vector<std::uint32_t>& loads) {
  const routing::Links links(fabric);
  std::string svg;
  for (SwitchIndex from = 0; from < fabric.switches.size(); ++from)
    for (std::size_t port = 1; port < fabric.switches[from].ports.size(); ++port) {
      const routing::Peer& peer = fabric.switches[from].ports[port];
      if (peer.kind == routing::Peer::Kind::a_switch)
        svg += drawing.link(from, peer.index, loads[links.at(from, static_cast<routing::Port>(port))]);
    }
  return svg;
}

std::string hosts_of(const Fabric& fabric, const Drawing& drawing, const routing::JobHosts& job) {
  std::string svg;
  for (std::uint32_t first = 0; first < fabric.hosts.size();) {
    std::uint32_t end = first;
    while (end < fabric.hosts.size() && fabric.hosts[end].leaf == fabric.hosts[first].leaf) ++end;
    for (std::uint32_t i = first; i < end; ++i)
      svg += drawing.host(i, i - first - (end - first - 1) / 2.0, std::ranges::find(job.hosts, i) != job.hosts.end());
    first = end;
  }
  return svg;
}

std::string legend(double x, double y) {
  constexpr std::array kNames{"idle", "1 flow", "2 at once", "3 or more"};
  std::string svg;
  for (std::size_t i = 0; i < kHeat.size(); ++i) {
    const double at = x + 110 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"22\" height=\"{}\" fill=\"{}\"/>\n", at, y - 4, 1 + i,
                       kHeat[i]);
    svg += svg_text(at + 30, y, "start", kNames[i]);
  }
  return svg;
}

Result<std::string> draw(const routing::Subnet& subnet, const routing::JobHosts& job,
                         const std::vector<std::uint32_t>& loads, std::string_view title) {
  const Fabric& fabric = subnet.fabric;
  if (fabric.hosts.size() > kMostHosts)
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = fmt::format("a tree of {} hosts is too large to draw: {} at most", fabric.hosts.size(), kMostHosts)});
  const Drawing drawing(fabric);
  std::string svg = svg_begin(drawing.width(), drawing.height(), title);
  svg += links_of(fabric, drawing, loads);
  for (SwitchIndex i = 0; i < fabric.switches.size(); ++i) svg += drawing.box(i);
  svg += hosts_of(fabric, drawing, job);
  return svg + legend(kMargin, drawing.height() - 20) + "</svg>\n";
}

} // namespace
} // namespace tree_picture

Result<std::string> load_svg(const routing::Subnet& subnet, const routing::JobHosts& job,
                             const std::vector<std::uint32_t>& loads, std::string_view title) {
  return tree_picture::draw(subnet, job, loads, title);
}

} // namespace heddle::tool
