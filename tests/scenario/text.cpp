#include "tests/scenario/text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <sstream>
#include <vector>

namespace heddle::tests {

namespace {

constexpr std::array<std::string_view, 18> kDeeds = {"send",   "unsolicited", "receive", "probe", "reserve", "take",
                                                     "cancel", "release",     "look",    "pause", "compute", "push",
                                                     "pull",   "mcast",       "atomic",  "lock",  "close",   "meet"};
constexpr std::array<std::string_view, 5> kMeetings = {"barrier", "alltoall", "alltoallv", "pattern", "put_pattern"};

// The members of a thing by name; those that are as they begin are not written.
template <typename Thing>
struct Field {
  std::string_view name;
  std::uint64_t Thing::* member;
};
constexpr std::array<Field<Action>, 9> kActionFields = {{{"tag", &Action::tag},
                                                         {"mask", &Action::mask},
                                                         {"bytes", &Action::bytes},
                                                         {"offset", &Action::offset},
                                                         {"form", &Action::form},
                                                         {"ns", &Action::ns},
                                                         {"event", &Action::event},
                                                         {"any", &Action::any},
                                                         {"mode", &Action::mode}}};
constexpr std::array<Field<Meeting>, 5> kMeetingFields = {{{"bytes", &Meeting::bytes},
                                                           {"distance", &Meeting::distance},
                                                           {"rounds", &Meeting::rounds},
                                                           {"requests", &Meeting::requests},
                                                           {"form", &Meeting::form}}};
constexpr std::array<Field<SeededTraffic>, 3> kTrafficFields = {
    {{"seed", &SeededTraffic::seed}, {"messages", &SeededTraffic::messages}, {"largest", &SeededTraffic::largest}}};

struct OptionField {
  std::string_view name;
  std::optional<std::uint64_t> Options::* member;
};
constexpr std::array<OptionField, 5> kOptionFields = {{{"ring_bytes", &Options::ring_bytes},
                                                       {"ring_memory", &Options::ring_memory},
                                                       {"eager_limit", &Options::eager_limit},
                                                       {"chunk_bytes", &Options::chunk_bytes},
                                                       {"unsolicited_memory", &Options::unsolicited_memory}}};
struct ChanceField {
  std::string_view name;
  double simulation::Setup::Faults::* member;
};
using Faults = simulation::Setup::Faults;
constexpr std::array<ChanceField, 5> kChanceFields = {{{"short_count", &Faults::short_count},
                                                       {"delay_command", &Faults::delay_command},
                                                       {"delay_event", &Faults::delay_event},
                                                       {"reorder_events", &Faults::reorder_events},
                                                       {"refuse_reads", &Faults::refuse_reads}}};
constexpr double kThousandth = 0.001;

template <typename Fields, typename Thing>
std::string fields_text(const Fields& fields, const Thing& thing) {
  std::string text;
  const Thing usual{};
  for (const auto& field : fields)
    if (thing.*field.member != usual.*field.member)
      text += " " + std::string(field.name) + "=" + std::to_string(thing.*field.member);
  return text;
}

// One line as words: the first says what it is, the others are key=value or alone.
struct Line {
  std::size_t number = 0;
  std::vector<std::string> words;
};

struct Trouble {
  std::string text;
};

[[noreturn]] void fail(const Line& line, const std::string& expected) {
  throw Trouble{"line " + std::to_string(line.number) + ": expected " + expected};
}

std::uint64_t number(const Line& line, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) fail(line, "a number, not '" + std::string(text) + "'");
  return value;
}

std::pair<std::string_view, std::uint64_t> pair_of(const Line& line, std::string_view word) {
  const std::size_t at = word.find('=');
  if (at == std::string_view::npos) fail(line, "key=value, not '" + std::string(word) + "'");
  return {word.substr(0, at), number(line, word.substr(at + 1))};
}

template <typename Fields, typename Thing>
bool set_field(const Fields& fields, Thing& thing, std::string_view key, std::uint64_t value) {
  for (const auto& field : fields)
    if (field.name == key) {
      thing.*field.member = value;
      return true;
    }
  return false;
}

template <typename Names>
std::size_t index_of(const Line& line, const Names& names, std::string_view word) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == word) return i;
  fail(line, "a word that is known, not '" + std::string(word) + "'");
}

const std::string& word(const Line& line, std::size_t index) {
  if (index >= line.words.size()) fail(line, "more words");
  return line.words[index];
}

void parse_faults(const Line& line, Faults& faults) {
  for (std::size_t i = 1; i < line.words.size(); ++i) {
    const auto [key, value] = pair_of(line, line.words[i]);
    bool known = key == "seed" || key == "reorder_commands";
    if (key == "seed") faults.seed = value;
    if (key == "reorder_commands") faults.reorder_commands = value != 0;
    for (const ChanceField& field : kChanceFields)
      if (field.name == key) {
        faults.*field.member = static_cast<double>(value) * kThousandth;
        known = true;
      }
    if (!known) fail(line, "a fault's name, not '" + std::string(key) + "'");
  }
}

void parse_action(const Line& line, Scenario& scenario) {
  const std::uint64_t rank = number(line, word(line, 1));
  if (rank >= scenario.actions.size()) fail(line, "a rank of the job, after its number of peers");
  Action action{.deed = static_cast<Deed>(index_of(line, kDeeds, word(line, 2)))};
  for (std::size_t i = 3; i < line.words.size(); ++i) {
    const auto [key, value] = pair_of(line, line.words[i]);
    if (key == "peer" && value < scenario.peers())
      action.peer = static_cast<std::uint32_t>(value);
    else if (!set_field(kActionFields, action, key, value))
      fail(line, "a member of an action, not '" + line.words[i] + "'");
  }
  scenario.actions[rank].push_back(action);
}

template <typename Fields, typename Thing>
Thing parse_fields(const Line& line, std::size_t from, const Fields& fields, Thing thing) {
  for (std::size_t i = from; i < line.words.size(); ++i) {
    const auto [key, value] = pair_of(line, line.words[i]);
    if (!set_field(fields, thing, key, value)) fail(line, "a name that is known, not '" + std::string(key) + "'");
  }
  return thing;
}

void parse_line(const Line& line, Scenario& scenario) {
  simulation::Setup& setup = scenario.setup;
  const std::string& what = word(line, 0);
  const auto last = [&] { return number(line, word(line, 1)); };
  if (what == "fabric") {
    setup.fabric = word(line, 1);
  } else if (what == "peers") {
    setup.peers = static_cast<std::uint32_t>(last());
    if (setup.peers == 0 || setup.peers > 1024) fail(line, "1 to 1024 peers");
    scenario.actions.resize(setup.peers);
    scenario.leaves.resize(setup.peers);
  } else if (what == "peers_per_node") {
    setup.peers_per_node = static_cast<std::uint32_t>(last());
  } else if (what == "faults") {
    parse_faults(line, setup.faults);
  } else if (what == "death") {
    setup.deaths.push_back({.rank = Rank{static_cast<std::uint32_t>(last())},
                            .at = std::chrono::nanoseconds(number(line, word(line, 2)))});
  } else if (what == "cut" || what == "plug") {
    setup.cables.push_back({.cable = static_cast<std::uint32_t>(last()),
                            .at = std::chrono::nanoseconds(number(line, word(line, 2))),
                            .plugged = what == "plug"});
  } else if (what == "leave") {
    if (last() >= scenario.peers()) fail(line, "a rank of the job, after its number of peers");
    scenario.leaves[last()] = true;
  } else if (what == "meeting") {
    scenario.meetings.push_back(
        parse_fields(line, 2, kMeetingFields,
                     Meeting{.kind = static_cast<Meeting::Kind>(index_of(line, kMeetings, word(line, 1)))}));
  } else if (what == "traffic") {
    scenario.traffic = parse_fields(line, 1, kTrafficFields, SeededTraffic{});
  } else if (what == "do") {
    parse_action(line, scenario);
  } else {
    for (const OptionField& field : kOptionFields)
      if (field.name == what) {
        setup.options.*field.member = last();
        return;
      }
    fail(line, "fabric, peers, an option, faults, death, leave, cut, plug, meeting, traffic or do");
  }
}

std::string nanoseconds_text(simulation::Time time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

} // namespace

std::string to_text(const Scenario& scenario) {
  const simulation::Setup& setup = scenario.setup;
  std::string text = "fabric " + setup.fabric + "\npeers " + std::to_string(setup.peers) + "\n";
  if (setup.peers_per_node != 1) text += "peers_per_node " + std::to_string(setup.peers_per_node) + "\n";
  for (const OptionField& field : kOptionFields)
    if (setup.options.*field.member)
      text += std::string(field.name) + " " + std::to_string(*(setup.options.*field.member)) + "\n";
  if (setup.faults.seed != 0) {
    text += "faults seed=" + std::to_string(setup.faults.seed);
    for (const ChanceField& field : kChanceFields)
      if (setup.faults.*field.member > 0)
        text += " " + std::string(field.name) + "=" +
                std::to_string(static_cast<std::uint64_t>(setup.faults.*field.member / kThousandth + 0.5));
    text += std::string(setup.faults.reorder_commands ? " reorder_commands=1" : "") + "\n";
  }
  for (const auto& death : setup.deaths)
    text += "death " + std::to_string(static_cast<std::uint32_t>(death.rank)) + " " + nanoseconds_text(death.at) + "\n";
  for (std::size_t rank = 0; rank < scenario.leaves.size(); ++rank)
    if (scenario.leaves[rank]) text += "leave " + std::to_string(rank) + "\n";
  for (const auto& change : setup.cables)
    text += std::string(change.plugged ? "plug " : "cut ") + std::to_string(change.cable) + " " +
            nanoseconds_text(change.at) + "\n";
  for (const Meeting& meeting : scenario.meetings)
    text += "meeting " + std::string(kMeetings[static_cast<std::size_t>(meeting.kind)]) +
            fields_text(kMeetingFields, meeting) + "\n";
  if (scenario.traffic) text += "traffic" + fields_text(kTrafficFields, *scenario.traffic) + "\n";
  for (std::size_t rank = 0; rank < scenario.actions.size(); ++rank)
    for (const Action& action : scenario.actions[rank])
      text += "do " + std::to_string(rank) + " " + std::string(kDeeds[static_cast<std::size_t>(action.deed)]) +
              (action.peer != 0 ? " peer=" + std::to_string(action.peer) : "") + fields_text(kActionFields, action) +
              "\n";
  return text;
}

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  std::istringstream lines{std::string(text)};
  std::string content;
  try {
    for (Line line; std::getline(lines, content);) {
      ++line.number;
      line.words.clear();
      std::istringstream words(content.substr(0, content.find('#')));
      for (std::string each; words >> each;) line.words.push_back(each);
      if (!line.words.empty()) parse_line(line, scenario);
    }
  } catch (const Trouble& trouble) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = trouble.text, .remedy = {}});
  }
  if (scenario.peers() == 0)
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "no number of peers is given", .remedy = {}});
  return scenario;
}

} // namespace heddle::tests
