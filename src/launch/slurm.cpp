#include "launch/slurm.hpp"

#include "store/address.hpp"

#include "base/clock.hpp"
#include "base/number_text.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

namespace heddle::launch {

namespace {

constexpr std::size_t kMostNames = 65536;
constexpr std::uint32_t kFirstOwnStep =
    0xffff'fff0U; // from here on Slurm numbers scripts and the like, which are no steps of tasks
// Between what systems give to programs that do not care, and what they reserve.
constexpr std::uint32_t kFirstPort = 20000;
constexpr std::uint32_t kPorts = 10000;
constexpr std::chrono::seconds kCancelLimit{10};

std::optional<std::uint32_t> count_of(std::string_view text) {
  return base::number_in<std::uint32_t>(text);
}

std::optional<std::uint32_t> count_of(const base::Environment& environment, std::string_view name) {
  const auto text = environment.lookup(name);
  return text ? count_of(*text) : std::nullopt;
}

std::string padded(std::uint32_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// "1-3,07" after a prefix. False where it is none.
bool add_range(const std::string& prefix, std::string_view ranges, std::string_view suffix,
               std::vector<std::string>& names) {
  while (!ranges.empty()) {
    const std::string_view range = ranges.substr(0, ranges.find(','));
    ranges.remove_prefix(std::min(range.size() + 1, ranges.size()));
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const auto first = count_of(low);
    const auto last = dash == std::string_view::npos ? first : count_of(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostNames) return false;
    for (std::uint32_t number = *first; number <= *last; ++number) {
      if (names.size() >= kMostNames) return false;
      names.push_back(prefix + padded(number, low.size()) + std::string(suffix));
    }
  }
  return true;
}

} // namespace

std::vector<std::string> expand_node_list(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t stop = text.find_first_of(",[");
    std::size_t length = std::min(stop, text.size());
    const std::string prefix(text.substr(0, length));
    if (stop != std::string_view::npos && text[stop] == '[') {
      const std::size_t close = text.find(']', stop);
      if (close == std::string_view::npos) return {};
      length = std::min(text.find(',', close), text.size());
      const std::string_view suffix = text.substr(close + 1, length - close - 1);
      if (suffix.find('[') != std::string_view::npos) return {}; // of several dimensions: nobody here has seen one
      if (!add_range(prefix, text.substr(stop + 1, close - stop - 1), suffix, names)) return {};
    } else {
      if (prefix.empty() || names.size() >= kMostNames) return {};
      names.push_back(prefix);
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return names;
}

std::vector<std::uint32_t> expand_counts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t open = word.find("(x");
    const auto count = count_of(word.substr(0, open));
    std::optional<std::uint32_t> times = 1;
    if (open != std::string_view::npos)
      times = word.ends_with(')') ? count_of(word.substr(open + 2, word.size() - open - 3)) : std::nullopt;
    if (!count || !times || *times > kMostNames - counts.size()) return {};
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

std::optional<SlurmStep> SlurmStep::of(const base::Environment& environment) {
  const auto rank = count_of(environment, "SLURM_PROCID");
  const auto number = count_of(environment, "SLURM_STEP_ID");
  auto size = count_of(environment, "SLURM_STEP_NUM_TASKS");
  if (!size) size = count_of(environment, "SLURM_NTASKS");
  const auto job = environment.lookup("SLURM_JOB_ID");
  if (!rank || !number || *number >= kFirstOwnStep || !size || *rank >= *size || !job) return std::nullopt;
  SlurmStep step{.rank = *rank, .size = *size};
  step.nodes = count_of(environment, "SLURM_STEP_NUM_NODES").value_or(0);
  step.name = std::string(environment.lookup("SLURM_CLUSTER_NAME").value_or("slurm").substr(0, 40)) + "-" +
              std::string(job->substr(0, 20)) + "." + std::to_string(*number);
  const auto nodes = expand_node_list(environment.lookup("SLURM_STEP_NODELIST").value_or(""));
  if (!nodes.empty()) step.first_node = nodes.front();
  return step;
}

std::optional<std::string> SlurmStep::meeting_place() const {
  if (nodes == 1) return store::address_of_job(name);
  if (first_node.empty()) return std::nullopt;
  std::uint32_t mixed = 2166136261U;
  for (const char character : name) mixed = (mixed ^ static_cast<unsigned char>(character)) * 16777619U;
  return std::string(store::kByTcp) + first_node + ":" + std::to_string(kFirstPort + mixed % kPorts);
}

bool is_of_slurm_script(const base::Environment& environment) {
  return environment.lookup("SLURM_PROCID") &&
         count_of(environment, "SLURM_STEP_ID").value_or(kFirstOwnStep) >= kFirstOwnStep;
}

void cancel_slurm_step(const base::Environment& environment) {
  std::string step(environment.lookup("SLURM_JOB_ID").value_or(""));
  step += "." + std::string(environment.lookup("SLURM_STEP_ID").value_or(""));
  std::array<char*, 4> words{const_cast<char*>("scancel"), const_cast<char*>("--signal=KILL"), step.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ) != 0) return;
  const base::Deadline limit = base::deadline_in(kCancelLimit);
  while (::waitpid(child, nullptr, WNOHANG) == 0 && base::Clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); // it kills this process, too
}

std::optional<std::vector<Host>> slurm_allocation(const base::Environment& environment) {
  const auto list = environment.lookup("SLURM_JOB_NODELIST");
  if (!list || !environment.lookup("SLURM_JOB_ID")) return std::nullopt;
  const auto names = expand_node_list(*list);
  auto counts = expand_counts(environment.lookup("SLURM_TASKS_PER_NODE").value_or(""));
  counts.resize(names.size(), 1);
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < names.size(); ++i)
    hosts.push_back({.name = names[i], .processes = std::max(counts[i], 1U)});
  if (hosts.empty()) return std::nullopt;
  return hosts;
}

} // namespace heddle::launch
