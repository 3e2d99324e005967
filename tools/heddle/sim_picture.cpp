#include "sim_picture.hpp"
#include "subcommands.hpp"
#include "svg.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

namespace heddle::tool {
namespace timeline {
namespace {

constexpr double kTop = 52;
constexpr double kRight = 40;
constexpr std::size_t kMostRows = 96;
constexpr std::size_t kManyRows = 24; // from here on they are low
constexpr double kJoin = 1;           // bars of one pair that are no further apart become one, in points
constexpr int kPeers = 1; // the group of tracks that show programs wait, which the gaps of the others show as well

struct Bar {
  double start = 0; // us
  double end = 0;
  std::string what; // "0 to 1"
};
struct Track {
  std::string name;
  std::vector<Bar> bars;
};
using Tracks = std::map<std::pair<int, unsigned>, Track>; // by group and number

Tracks tracks_of(const Json& events) {
  Tracks tracks;
  for (const Json& event : events) {
    const bool is_name = event.at("ph") == "M";
    if ((is_name && event.at("name") != "thread_name") || event.at("pid") == kPeers) continue;
    Track& track = tracks[{event.at("pid").get<int>(), event.at("tid").get<unsigned>()}];
    if (is_name) {
      track.name = event.at("args").at("name").get<std::string>();
      continue;
    }
    const auto name = event.at("name").get<std::string>();
    const auto start = event.at("ts").get<double>();
    track.bars.push_back({start, start + event.at("dur").get<double>(), name.substr(0, name.find(','))});
  }
  return tracks;
}

// Packets of one pair that follow each other closely are one bar.
std::vector<Bar> joined(std::vector<Bar> bars, double points_per_us) {
  std::ranges::sort(bars, {}, &Bar::start);
  std::vector<Bar> result;
  for (Bar& bar : bars) {
    if (!result.empty() && result.back().what == bar.what && (bar.start - result.back().end) * points_per_us < kJoin)
      result.back().end = std::max(result.back().end, bar.end);
    else
      result.push_back(std::move(bar));
  }
  return result;
}

// By the sender.
const char* colour_of(const std::string& what) {
  unsigned sender = 0;
  std::from_chars(what.data(), what.data() + what.size(), sender);
  return kPalette[sender % kPalette.size()];
}

// Room for the names, and for time beside them.
struct Columns {
  double left = 0;
  double width = 0;
};
Columns columns_of(const Tracks& tracks, double font) {
  double widest = 0;
  for (const auto& [place, track] : tracks) widest = std::max(widest, text_width(track.name, font));
  const double left = std::min(16 + widest + 8, kPictureWidth / 2);
  return {left, kPictureWidth - left - kRight};
}

std::string scale(double end_us, double height, const Columns& columns) {
  constexpr int kMarks = 5;
  std::string svg;
  for (int i = 0; i <= kMarks; ++i) {
    const double x = columns.left + columns.width * i / kMarks;
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>\n", x, kTop - 4,
                       height);
    svg += svg_text(x, height + 16, "middle", fmt::format("{:.1f}{}", end_us * i / kMarks, i == kMarks ? " us" : ""));
  }
  return svg;
}

Result<std::string> draw(const std::string& trace, std::string_view title) {
  const Json whole = Json::parse(trace, nullptr, false);
  if (!whole.is_object()) return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "no trace to draw"});
  const Tracks tracks = tracks_of(whole.at("traceEvents"));
  if (tracks.size() > kMostRows)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = fmt::format("{} engines and links are too many to draw: {} at most", tracks.size(), kMostRows),
              .remedy = "use fewer processes, or --trace"});
  double end_us = 1e-6;
  for (const auto& [place, track] : tracks)
    for (const Bar& bar : track.bars) end_us = std::max(end_us, bar.end);
  const double row = tracks.size() < kManyRows ? 18 : 11;
  const double font = row < 18 ? 8 : kFont;
  const Columns columns = columns_of(tracks, font);
  const double points_per_us = columns.width / end_us;
  const double height = kTop + row * static_cast<double>(tracks.size());
  std::string svg = svg_begin(kPictureWidth, height + 28, title) + scale(end_us, height, columns);
  double y = kTop;
  for (const auto& [place, track] : tracks) {
    svg += svg_text(columns.left - 8, y + row - (row - font) / 2 - 1, "end",
                    fitted(track.name, columns.left - 24, font), font);
    // One path for each colour: a bar costs a quarter of what it would cost as an element of its own.
    std::map<std::string, std::string> paths;
    for (const Bar& bar : joined(track.bars, points_per_us)) {
      const double width = std::max((bar.end - bar.start) * points_per_us, 0.4);
      paths[colour_of(bar.what)] += fmt::format("M{0:.1f} {1:.0f}h{2:.1f}v{3:.0f}h-{2:.1f}z",
                                                columns.left + bar.start * points_per_us, y + 1, width, row - 2);
    }
    for (const auto& [colour, path] : paths) svg += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", colour, path);
    y += row;
  }
  return svg + "</svg>\n";
}

} // namespace
} // namespace timeline

Result<std::string> timeline_svg(const std::string& trace, std::string_view title) {
  return timeline::draw(trace, title);
}

} // namespace heddle::tool
