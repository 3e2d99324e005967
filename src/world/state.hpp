// What a simulated job consists of, and the loop that runs it: an event of the network, then whoever it concerned.
#pragma once

#include "sim/packet_model.hpp"
#include "translators/faulty/faulty.hpp"
#include "translators/simulated/interconnect.hpp"
#include "world/trace.hpp"

#include <heddle/simulation.hpp>

#include <memory>
#include <string>
#include <vector>

namespace heddle::simulation {

class WorldState {
 public:
  static Result<std::unique_ptr<WorldState>> create(const Setup& setup);
  ~WorldState();

  [[nodiscard]] Time now() const { return interconnect_.now(); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(processes_.size()); }
  [[nodiscard]] const Peer& peer(std::uint32_t rank) const { return *processes_[rank].peer; }
  void wake_at(const Peer& peer, Time time) { interconnect_.touch_at(ir::Peer{peer.rank()}, time); }
  Result<Outcome> run(const Program& program);

 private:
  struct Process {
    std::unique_ptr<ir::Translator> network;
    std::unique_ptr<translators::Faulty> faulty; // over it; none without faults
    std::unique_ptr<Peer> peer;
    std::optional<Task> task;
    Time waits_since{};
    bool looks_again = false; // a timer is set because something has to be tried again
    Time patience{};          // until that timer, the last time
    bool dead = false;
    bool ended = false;
  };

  WorldState(const Setup& setup, std::unique_ptr<sim::PacketModel> network, std::vector<std::uint32_t> nodes);
  Result<void> populate();
  Result<std::unique_ptr<ir::Translator>> make_translator(ir::Peer peer);

  // Lets a process do all it can do now.
  void advance(Process& process);
  void resume(Process& process);
  void note_end(Process& process);
  void look_again_if_needed(Process& process);
  void kill_those_due();
  [[nodiscard]] Error stuck() const;

  Setup setup_;
  translators::simulated::Interconnect interconnect_;
  std::vector<Process> processes_;
  std::vector<Setup::Death> deaths_; // by time, the next last
  std::unique_ptr<Trace> trace_;
  std::uint32_t running_ = 0;
  Outcome outcome_;
};

} // namespace heddle::simulation
