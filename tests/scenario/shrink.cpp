#include "tests/scenario/shrink.hpp"

#include <algorithm>
#include <array>

namespace heddle::tests {

namespace {

class Shrinker {
 public:
  Shrinker(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
           const std::function<bool(const Scenario&)>& go_on)
      : best_(std::move(scenario)), fails_(fails), go_on_(go_on) {}

  Scenario run() {
    do {
      changed_ = false;
      drop_actions();
      drop_events();
      drop_meetings();
      drop_ranks();
      ease_setup();
      ease_actions();
      ease_meetings();
    } while (changed_ && !stopped_);
    return best_;
  }

 private:
  bool accept(Scenario candidate) {
    stopped_ = stopped_ || !go_on_(best_);
    if (stopped_ || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    changed_ = true;
    return true;
  }

  // Ever smaller stretches of all actions, one process's after another's.
  void drop_actions() {
    std::size_t total = 0;
    for (const auto& actions : best_.actions) total += actions.size();
    for (std::size_t width = std::max<std::size_t>(total / 2, 1); width > 0; width /= 2)
      for (std::size_t from = 0; from < total;) {
        Scenario candidate = best_;
        std::size_t at = 0;
        std::size_t dropped = 0;
        for (auto& actions : candidate.actions)
          std::erase_if(actions, [&](const Action& action) {
            const bool drop = at >= from && at < from + width && action.deed != Deed::meet;
            ++at;
            dropped += drop ? 1U : 0U;
            return drop;
          });
        if (dropped > 0 && accept(std::move(candidate)))
          total -= dropped;
        else
          from += width;
      }
  }

  void drop_deaths() {
    for (std::size_t i = 0; i < best_.setup.deaths.size();) {
      Scenario candidate = best_;
      candidate.setup.deaths.erase(candidate.setup.deaths.begin() + static_cast<std::ptrdiff_t>(i));
      if (!accept(std::move(candidate))) ++i;
    }
  }

  void drop_events() {
    drop_deaths();
    drop_cables();
    for (std::size_t rank = 0; rank < best_.leaves.size(); ++rank) {
      if (!best_.leaves[rank]) continue;
      Scenario candidate = best_;
      candidate.leaves[rank] = false;
      accept(std::move(candidate));
    }
    Scenario candidate = best_;
    candidate.setup.faults = {};
    if (best_.setup.faults.seed != 0 && !accept(std::move(candidate))) ease_faults();
  }

  // A cut goes with its plug: what is cut for good need not end.
  void drop_cables() {
    for (std::size_t i = 0; i < best_.setup.cables.size();) {
      Scenario candidate = best_;
      const std::uint32_t cable = best_.setup.cables[i].cable;
      std::erase_if(candidate.setup.cables, [cable](const auto& change) { return change.cable == cable; });
      if (!accept(std::move(candidate))) ++i;
    }
  }

  void ease_faults() {
    using Faults = simulation::Setup::Faults;
    for (double Faults::* chance : {&Faults::short_count, &Faults::delay_command, &Faults::delay_event,
                                    &Faults::reorder_events, &Faults::refuse_reads}) {
      if (best_.setup.faults.*chance == 0) continue;
      Scenario candidate = best_;
      candidate.setup.faults.*chance = 0;
      accept(std::move(candidate));
    }
    if (!best_.setup.faults.reorder_commands) return;
    Scenario candidate = best_;
    candidate.setup.faults.reorder_commands = false;
    accept(std::move(candidate));
  }

  void drop_meetings() {
    for (std::size_t number = 0; number < best_.meetings.size();) {
      Scenario candidate = best_;
      candidate.meetings.erase(candidate.meetings.begin() + static_cast<std::ptrdiff_t>(number));
      for (auto& actions : candidate.actions) {
        std::size_t seen = 0;
        std::erase_if(actions, [&](const Action& action) { return action.deed == Deed::meet && seen++ == number; });
      }
      if (!accept(std::move(candidate))) ++number;
    }
  }

  static Scenario without(const Scenario& scenario, std::uint32_t gone) {
    Scenario smaller = scenario;
    --smaller.setup.peers;
    smaller.actions.erase(smaller.actions.begin() + gone);
    smaller.leaves.erase(smaller.leaves.begin() + gone);
    std::erase_if(smaller.setup.deaths, [gone](const auto& death) { return death.rank == Rank{gone}; });
    for (auto& death : smaller.setup.deaths)
      if (death.rank > Rank{gone}) death.rank = Rank{static_cast<std::uint32_t>(death.rank) - 1};
    for (auto& actions : smaller.actions) {
      std::erase_if(actions, [gone](const Action& action) { return action.peer == gone; });
      for (Action& action : actions) {
        action.peer -= action.peer > gone ? 1U : 0U;
        if (action.deed != Deed::mcast) continue;
        const std::uint64_t low = (std::uint64_t{1} << gone) - 1;
        action.mask = (action.mask & low) | (action.mask >> 1U & ~low);
      }
    }
    for (Meeting& meeting : smaller.meetings)
      meeting.distance = std::min<std::uint64_t>(meeting.distance, smaller.setup.peers - 1);
    return smaller;
  }

  void ease_meetings() {
    for (std::size_t number = 0; number < best_.meetings.size(); ++number)
      for (std::uint64_t Meeting::* member : {&Meeting::form, &Meeting::requests}) {
        const std::uint64_t least = Meeting{}.*member;
        if (best_.meetings[number].*member == least) continue;
        Scenario candidate = best_;
        candidate.meetings[number].*member = least;
        accept(std::move(candidate));
      }
  }

  void drop_ranks() {
    for (std::uint32_t rank = best_.peers(); rank-- > 0 && best_.peers() > 2;)
      if (!best_.traffic) accept(without(best_, rank));
  }

  void ease_setup() {
    for (const char* fabric : {"infiniband:2-ary-2-tree", "tofu:1x1x1", "rhinet:star:8"}) {
      if (best_.setup.fabric == fabric) break;
      Scenario candidate = best_;
      candidate.setup.fabric = fabric;
      candidate.setup.cables.clear();
      if (accept(std::move(candidate))) break;
    }
    for (auto option : {&Options::ring_memory, &Options::chunk_bytes, &Options::unsolicited_memory}) {
      constexpr std::uint64_t kAmple = 1U << 22U;
      if (!(best_.setup.options.*option) || best_.setup.options.*option == kAmple || best_.traffic) continue;
      Scenario candidate = best_;
      candidate.setup.options.*option = kAmple;
      accept(std::move(candidate));
    }
    if (best_.setup.peers_per_node == 1) return;
    Scenario candidate = best_;
    candidate.setup.peers_per_node = 1;
    accept(std::move(candidate));
  }

  void ease_actions() {
    for (std::size_t rank = 0; rank < best_.actions.size(); ++rank)
      for (std::size_t i = 0; i < best_.actions[rank].size(); ++i)
        for (std::uint64_t Action::* member :
             {&Action::event, &Action::mode, &Action::form, &Action::ns, &Action::offset}) {
          if (best_.actions[rank][i].*member == 0) continue;
          Scenario candidate = best_;
          candidate.actions[rank][i].*member = 0;
          accept(std::move(candidate));
        }
  }

  Scenario best_;
  const std::function<bool(const Scenario&)>& fails_;
  const std::function<bool(const Scenario&)>& go_on_;
  bool changed_ = false;
  bool stopped_ = false;
};

} // namespace

Scenario shrink(Scenario scenario, const std::function<bool(const Scenario&)>& fails,
                const std::function<bool(const Scenario&)>& go_on) {
  return Shrinker(std::move(scenario), fails, go_on).run();
}

} // namespace heddle::tests
