#include "launch/stalls.hpp"

#include <algorithm>

namespace heddle::launch {
namespace {

constexpr std::chrono::seconds kCollect{2};
constexpr std::chrono::seconds kQuiet{60};
constexpr std::size_t kMostNamed = 8;

std::string named(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

} // namespace

void Stalls::add(store::Stall stall, base::Deadline now) {
  if (!due_) {
    if (now < quiet_until_) return;
    due_ = now + kCollect;
    first_ = stall.rank;
  }
  stalls_[stall.rank] = std::move(stall);
}

std::vector<std::string> Stalls::report(const std::vector<bool>& running, base::Deadline now) {
  std::vector<std::uint32_t> waiting;
  std::vector<std::uint32_t> others;
  for (std::uint32_t rank = 0; rank < running.size(); ++rank)
    if (running[rank]) (stalls_.contains(rank) ? waiting : others).push_back(rank);
  const store::Stall first = stalls_[first_];
  std::string head = "nothing has moved for " + std::to_string(first.seconds) + " s in ";
  head += others.empty() ? "all " + std::to_string(waiting.size())
                         : std::to_string(waiting.size()) + " of " + std::to_string(waiting.size() + others.size());
  head += " processes";
  if (!others.empty() && others.size() <= kMostNamed) head += ", but in " + named(others);
  head += "; rank " + std::to_string(first.rank) + " waits:";
  std::vector<std::string> lines{head};
  for (std::size_t from = 0; from < first.text.size();) {
    const std::size_t end = std::min(first.text.find('\n', from), first.text.size());
    lines.push_back("  " + first.text.substr(from, end - from));
    from = end + 1;
  }
  stalls_.clear();
  due_.reset();
  quiet_until_ = now + kQuiet;
  return lines;
}

} // namespace heddle::launch
