// What a simulated job consists of, and the loop that runs it: an event of the network, then whoever it concerned.
#pragma once

#include "base/hidden.hpp"
#include "base/options.hpp"
#include "sim/network_model.hpp"
#include "translators/faulty/faulty.hpp"
#include "translators/simulated/interconnect.hpp"
#include "translators/simulated/simulated.hpp"
#include "world/trace.hpp"

#include <heddle/simulation.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::engine {
class Engine;
}

namespace heddle::simulation {

class HEDDLE_HIDDEN WorldState {
 public:
  static Result<std::unique_ptr<WorldState>> create(const Setup& setup);
  ~WorldState();

  [[nodiscard]] Time now() const { return interconnect_.now(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(processes_.size()); }
  [[nodiscard]] const Peer& peer(Rank rank) const { return *processes_[std::to_underlying(rank)].peer; }
  void wake_at(const Peer& peer, Time time) { interconnect_.touch_at(network_peer(peer.rank()), time); }
  Result<Outcome> run(const Program& program);
  static engine::Engine& engine_of(Peer& peer);
  // As the network knows it.
  static ir::Peer network_peer(Rank rank) { return ir::Peer{std::to_underlying(rank)}; }

 private:
  struct Process {
    std::unique_ptr<translators::simulated::Simulated> network;
    std::unique_ptr<translators::Faulty> faulty; // over it; none without faults
    std::unique_ptr<Peer> peer;
    std::optional<Task> task;
    Time waits_since{};
    bool looks_again = false; // a timer is set because something has to be tried again
    Time looks_at{};          // when it fires
    Time patience{};          // until that timer, the last time
    bool gone = false;        // dead, or left
    bool ended = false;
  };

  WorldState(const Setup& setup, std::unique_ptr<sim::NetworkModel> network, std::vector<std::uint32_t> nodes);
  Result<void> populate();
  Result<std::unique_ptr<translators::simulated::Simulated>> make_translator(ir::Peer peer);

  // Lets a process do all it can do now.
  void advance(Process& process);
  void resume(Process& process);
  void note_end(Process& process);
  void look_again_if_due(Process& process);
  void set_timer_if_needed(Process& process);
  void kill_those_due();
  void depart_when_drained(Process& process);
  // Only timers of those who try again are left.
  [[nodiscard]] bool nothing_will_move();
  [[nodiscard]] Error stuck() const;

  Setup setup_;
  translators::simulated::Interconnect interconnect_;
  std::vector<Process> processes_;
  std::vector<Setup::Death> deaths_; // by time, the next last
  std::unique_ptr<Trace> trace_;
  bool ran_ = false;
  std::uint32_t running_ = 0;
  std::uint64_t resumed_ = 0;          // programs, so far
  std::uint64_t advanced_ = 0;         // processes, since it was last looked at whether anything moves
  std::uint64_t moved_ = 0;            // packets and programs, by then
  unsigned in_vain_ = 0;               // such looks, one after the other, at which nothing had
  std::vector<std::uint32_t> writers_; // of the process that is advanced
  Outcome outcome_;
};

} // namespace heddle::simulation
