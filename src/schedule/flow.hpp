// Engines that take requests in order, in time: while several move, each gets its max-min fair share of engine, links and node.
// All algorithms that let engines run freely reckon with this; which request an engine takes next is the caller's choice.
//
//   flow.reset(engines)
//   while something is left: offer idle engines to choose(); rates by progressive filling; on to the next start or end
//
// An engine e takes its first request at e * queue_ns: the processor writes to one queue after the other.
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::schedule {

inline constexpr std::uint32_t kMostEngines = 8;
inline constexpr std::uint32_t kNoRequest = 0xffff'ffff;

class Flow {
 public:
  // What moves or is about to. Copied by whoever looks ahead.
  struct State {
    struct Engine {
      std::uint32_t request = kNoRequest;
      std::uint32_t link_count = 0;
      const std::uint32_t* links = nullptr; // of its path
      std::uint32_t route = 0;              // the path's place in Problem::paths
      std::uint8_t path = 0;
      std::uint8_t receive_engine = 0;
      bool moves = false;
      double moves_at = 0; // the start-up is over; while idle, when it may take its first request
      double left = 0;     // bytes
      double rate = 0;
      double end = 0; // at this rate
      [[nodiscard]] std::span<const std::uint32_t> path_links() const { return {links, link_count}; }
    };
    std::array<Engine, kMostEngines> engines;
    double now = 0;
    std::uint32_t active = 0;
  };

  explicit Flow(const Problem& problem);

  // Forgets everything; `engines` of the node will be used.
  void reset(std::uint32_t engines);

  // Runs to the end. `choose(engine)` names a request not yet begun, or kNoRequest to leave the engine idle until
  // something ends. Whatever it names must satisfy can_begin.
  template <typename Choose>
  void run(std::uint32_t requests, Choose&& choose) {
    std::uint32_t left = requests;
    for (;;) {
      for (std::uint32_t e = 0; e < engine_count_ && left > 0; ++e) {
        if (!idle(e)) continue;
        const std::uint32_t request = choose(e);
        if (request == kNoRequest) continue;
        begin(e, request, path_choice_[request]);
        --left;
      }
      if (left == 0 && state_.active == 0) return;
      if (!step(left > 0)) return; // nobody wants what is left
    }
  }

  // One by one, for searches.
  [[nodiscard]] bool idle(std::uint32_t engine) const {
    const State::Engine& at = state_.engines[engine];
    return at.request == kNoRequest && at.moves_at <= state_.now;
  }
  [[nodiscard]] bool can_begin(std::uint32_t engine, std::uint32_t request) const {
    return problem_.resources.receive_engines >= problem_.resources.engines ||
           free_receive_engine(engine, request) != kNoReceiver;
  }
  void begin(std::uint32_t engine, std::uint32_t request, std::uint32_t path);
  // For what moves at one moment, whatever led to it: as begin, without a start-up; then the rates of all.
  void begin_moving(std::uint32_t engine, std::uint32_t request, std::uint32_t path) {
    begin(engine, request, path);
    state_.engines[engine].moves = true;
  }
  void settle_rates() { solve(); }
  // On to the next moment at which something can be decided. False: there is none.
  bool step(bool engines_wanted);

  [[nodiscard]] const State& state() const { return state_; }
  // Back to a moment copied before; placements made since are left as they are, or those of that moment are brought back, too.
  void restore(const State& state) {
    state_ = state;
    stale_ = true;
  }
  void restore(const State& state, const std::vector<Placement>& placements) {
    restore(state);
    placements_ = placements;
  }
  [[nodiscard]] std::uint32_t engines() const { return engine_count_; }
  [[nodiscard]] const std::vector<Placement>& placements() const { return placements_; }
  [[nodiscard]] double makespan() const { return makespan_; }
  // The path that begin takes for a request in run().
  void choose_path(std::uint32_t request, std::uint8_t path) { path_choice_[request] = path; }
  // As a schedule; for placements that are complete.
  [[nodiscard]] Schedule schedule() const;

 private:
  static constexpr std::uint8_t kNoReceiver = 0xff;

  [[nodiscard]] std::uint8_t free_receive_engine(std::uint32_t engine, std::uint32_t request) const;
  void solve();
  void divide();

  const Problem& problem_;
  const double engine_rate_;
  const double node_rate_;
  std::uint32_t engine_count_ = 1;
  State state_;
  std::vector<Placement> placements_;
  std::vector<std::uint8_t> path_choice_;
  // Rates of requests that moved together before, by the sum of the names of their routes; one for each value of the first bits of
  // that. Equal sums of different sets are as good as impossible.
  struct Share { // no values from the start: there are many, and most will never be used
    std::uint64_t route;
    double rate;
    double time; // ns for a byte
  };
  static constexpr std::uint32_t kKnownBits = 6;
  std::array<std::uint64_t, 1U << kKnownBits> known_{}; // 0: none; nothing moves, nothing to know
  std::array<std::array<Share, kMostEngines>, 1U << kKnownBits> shares_;
  std::vector<std::uint64_t> route_names_; // by path
  // For divide, by link.
  std::vector<std::uint32_t> crossing_;
  std::vector<double> residual_;
  std::vector<std::uint32_t> touched_;
  double makespan_ = 0;
  bool stale_ = true; // rates are to be solved again
};

// The order in which a schedule's requests are handed over, and its makespan.
void put_in_order(Schedule& schedule);

// Sets Placement::shares_link from the times: for schedules that were not made by one run of a Flow.
void mark_shared_links(const Problem& problem, Schedule& schedule);

// Lets engines take what is planned in its order, without a look at its times.
void run_freely(Flow& flow, const Problem& problem, const Schedule& planned);

} // namespace heddle::schedule
