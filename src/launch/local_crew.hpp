// Processes of a job on this machine.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>

#include "base/environment.hpp"
#include "launch/crew.hpp"
#include "launch/launcher.hpp"
#include "launch/warden.hpp"

namespace heddle::launch {

// Which of a job's processes are started here, and with what.
struct Share {
  std::vector<std::string> command;
  std::vector<base::Environment::Variable> environment; // of all; each also gets its HEDDLE_RANK
  std::uint32_t first = 0;                              // rank
  std::uint32_t count = 1;
  Binding bind = Binding::automatic;
  sigset_t signal_mask{};
};

class LocalCrew final : public Crew {
 public:
  // What a process reads and writes, by rank; without it rank 0 reads what this process does, and all write where it does.
  using Streams = std::function<ProcessStreams(std::uint32_t rank)>;

  explicit LocalCrew(Share share, Streams streams = {}) : share_(std::move(share)), streams_(std::move(streams)) {}
  ~LocalCrew() override;

  // Waits until every program has started or cannot be: bad_argument.
  Result<void> start() override;
  void signal_all(int number) override;
  std::vector<Ended> take_ended(bool children) override;
  [[nodiscard]] bool runs(std::uint32_t rank) const override { return running_[rank - share_.first] != 0; }

 private:
  [[nodiscard]] ProcessPlan plan_for(std::uint32_t index, int failure_pipe) const;

  Share share_;
  Streams streams_;
  std::vector<pid_t> running_; // 0 when it has ended
  Warden warden_;
};

} // namespace heddle::launch
