#include "routing/pattern.hpp"

#include <charconv>
#include <utility>

namespace heddle::routing {
namespace {

constexpr std::size_t kMostFlows = 64'000'000; // of one file: 8,000 nodes all to all

Error bad_stage(std::size_t line, std::string why) {
  return {.code = ErrorCode::bad_argument,
          .fact = "line " + std::to_string(line) + ": " + std::move(why),
          .remedy = "each line is a stage: for every node of the job the node it sends to, or -"};
}

std::string_view cut_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
  const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

Result<Stage> parse_stage(std::string_view line, std::size_t number, std::uint32_t nodes) {
  Stage stage;
  std::vector<bool> receives(nodes);
  std::uint32_t from = 0;
  for (std::string_view word = cut_word(line); !word.empty(); word = cut_word(line), ++from) {
    if (from == nodes)
      return std::unexpected(bad_stage(number, "more than the " + std::to_string(nodes) + " nodes of the job"));
    if (word == "-") continue;
    std::uint32_t to = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), to);
    if (status != std::errc{} || end != word.data() + word.size() || to >= nodes)
      return std::unexpected(bad_stage(number, "'" + std::string(word.substr(0, 40)) + "' is not a node from 0 to " +
                                                   std::to_string(nodes - 1) + " and not -"));
    if (receives[to])
      return std::unexpected(bad_stage(number, "two nodes send to node " + std::to_string(to) + " in one stage"));
    receives[to] = true;
    if (to != from) stage.push_back({from, to});
  }
  if (from < nodes)
    return std::unexpected(
        bad_stage(number, "ends after " + std::to_string(from) + " of the " + std::to_string(nodes) + " nodes"));
  return stage;
}

} // namespace

Pattern Pattern::shift(std::uint32_t nodes) {
  Pattern pattern;
  pattern.name_ = "shift";
  pattern.nodes_ = nodes;
  pattern.shift_ = true;
  return pattern;
}

Pattern Pattern::doubling(std::uint32_t nodes) {
  std::vector<Stage> stages;
  for (std::uint32_t bit = 1; bit < nodes; bit *= 2) {
    Stage stage;
    for (std::uint32_t s = 0; s < nodes; ++s)
      if ((s ^ bit) < nodes) stage.push_back({s, s ^ bit});
    stages.push_back(std::move(stage));
  }
  return of("doubling", nodes, std::move(stages));
}

Pattern Pattern::neighbour(std::uint32_t nodes) {
  std::vector<Stage> stages(nodes < 2 ? 0 : 2);
  if (!stages.empty())
    for (std::uint32_t s = 0; s < nodes; ++s) {
      stages[0].push_back({s, (s + 1) % nodes});
      stages[1].push_back({s, (s + nodes - 1) % nodes});
    }
  return of("neighbour", nodes, std::move(stages));
}

Pattern Pattern::of(std::string name, std::uint32_t nodes, std::vector<Stage> stages) {
  Pattern pattern;
  pattern.name_ = std::move(name);
  pattern.nodes_ = nodes;
  pattern.stages_ = std::move(stages);
  return pattern;
}

void Pattern::fill(std::size_t i, Stage& stage) const {
  if (!is_shift()) {
    stage = stages_[i];
    return;
  }
  stage.clear();
  const auto distance = static_cast<std::uint32_t>(i + 1);
  for (std::uint32_t s = 0; s < nodes_; ++s)
    stage.push_back({s, s + distance < nodes_ ? s + distance : s + distance - nodes_});
}

Result<Pattern> parse_pattern(std::string_view text, std::uint32_t nodes) {
  std::vector<Stage> stages;
  std::size_t flows = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::string_view probe = line;
    if (cut_word(probe).empty()) continue;
    auto stage = parse_stage(line, number, nodes);
    if (!stage) return std::unexpected(std::move(stage).error());
    flows += stage->size();
    if (flows > kMostFlows) return std::unexpected(bad_stage(number, "the pattern is too large"));
    stages.push_back(std::move(*stage));
  }
  if (stages.empty())
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "the pattern has no stage"});
  return Pattern::of("file", nodes, std::move(stages));
}

} // namespace heddle::routing
