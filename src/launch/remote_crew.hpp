// Processes of a job on several machines: an agent on each starts its share of them (agent.hpp).
#pragma once

#include <sys/types.h>

#include <csignal>
#include <list>
#include <memory>

#include "auth/door.hpp"
#include "base/log.hpp"
#include "launch/crew.hpp"
#include "launch/job_variables.hpp"
#include "launch/launcher.hpp"
#include "launch/link.hpp"
#include "launch/output.hpp"

namespace heddle::launch {

class RemoteCrew final : public Crew {
 public:
  // All of these outlive it but the variables.
  RemoteCrew(const JobDescription& job, Variables variables, const auth::Secret& secret, const sigset_t& signal_mask,
             Output& output, const base::Log& log);
  ~RemoteCrew() override;

  // Begins to start an agent on each host. When all have reported, the processes are started.
  Result<void> start() override;
  [[nodiscard]] std::optional<Error> failure() const override { return failure_; }
  void signal_all(int number) override;
  std::vector<Ended> take_ended(bool children) override;
  [[nodiscard]] bool runs(std::uint32_t rank) const override { return runs_[rank]; }
  [[nodiscard]] int descriptor() const override { return poller_.number(); }
  void serve() override;
  [[nodiscard]] std::optional<base::Deadline> due() const override { return next_look_; }

 private:
  static constexpr std::chrono::seconds kPatience{30}; // for all agents to report
  static constexpr std::chrono::milliseconds kBetweenLooks{1000};

  struct Place { // one host
    const Host* host = nullptr;
    std::uint32_t number = 0;
    std::uint32_t first = 0; // rank
    pid_t shell = 0;         // 0: it has ended
    std::unique_ptr<Link> link;
    bool started = false;
    bool lost = false;
  };

  Result<void> start_agent(Place& place);
  [[nodiscard]] std::vector<std::string> command_for(const Host& host) const;
  void admit();
  void hear_newcomers();
  void start_processes();
  void hear(Place& place);
  void obey(Place& place, const net::Frame& frame);
  void take_output_of(const Place& place, const net::Frame& frame);
  void take_ended_of(const Place& place, const net::Frame& frame);
  void lose(Place& place, const std::string& why, std::chrono::milliseconds ago = {});
  void lose_silent(Place& place);
  void collect_shells();
  // Whether rank 0 has taken enough of what it was sent.
  [[nodiscard]] bool takes_input() const;
  void pass_on_input();
  void look_at_clock();
  void fail(Error error);
  // descriptor() is readable when this one is ready for either.
  void watch(int descriptor, bool reads, bool writes);
  void watch_all();
  [[nodiscard]] bool holds(const Place& place, std::uint32_t rank) const;

  const JobDescription& job_;
  Variables variables_;
  const auth::Secret& secret_;
  const sigset_t& signal_mask_;
  Output& output_;
  const base::Log& log_;
  std::unique_ptr<auth::Door> door_;
  base::Descriptor poller_;
  std::vector<Place> places_;
  std::list<Link> newcomers_; // agents that have not said which they are
  std::array<bool, 2> hushed_{};
  std::vector<bool> runs_; // by rank
  std::vector<Ended> ended_;
  std::size_t input_sent_ = 0; // and not taken yet
  bool reads_input_ = false;
  bool all_ordered_ = false;  // the processes are being started
  base::Deadline deadline_{}; // for the agents to report
  base::Deadline next_look_{};
  std::optional<Error> failure_;
};

} // namespace heddle::launch
