#include "launch/launcher.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor_limit.hpp"
#include "launch/job_variables.hpp"
#include "launch/local_crew.hpp"
#include "launch/output.hpp"
#include "launch/remote_crew.hpp"
#include "launch/signals.hpp"
#include "launch/stalls.hpp"
#include "store/address.hpp"
#include "store/server.hpp"

namespace heddle::launch {
namespace {

constexpr std::chrono::milliseconds kLongestWarning{2000}; // between SIGTERM and SIGKILL
constexpr int kEndedInSilence = 1; // the exit status of a job where a process has failed with status 0

std::optional<store::Server::Config::ByTcp> by_tcp(const JobDescription& job, const auth::Secret& secret) {
  if (job.hosts.empty()) return std::nullopt;
  return store::Server::Config::ByTcp{.host = job.address, .ports = job.ports, .secret = secret};
}

class Run {
 public:
  Run(const JobDescription& job, const base::Log& log, store::Server& server, const Signals& signals, Crew& crew,
      Output& output)
      : job_(job), log_(log), server_(server), signals_(signals), crew_(crew), output_(output), left_(job.processes) {}

  // Until all processes have ended; the exit status.
  Result<int> watch();

 private:
  void collect_ended(bool children);
  // Whether it ended well in the eyes of the system, but as a member of the job without a goodbye.
  [[nodiscard]] bool ended_in_silence(std::uint32_t rank, const Ending& ending) const;
  void judge(const Ended& ended);
  void signal_all(int number);
  // True where a child has ended.
  bool forward_signals();
  void abort_if_asked();
  void press_on_if_due();
  void report_stalls_if_due();
  [[nodiscard]] int milliseconds_to_wait() const;

  const JobDescription& job_;
  const base::Log& log_;
  store::Server& server_;
  const Signals& signals_;
  Crew& crew_;
  Output& output_;
  std::uint32_t left_; // how many still run
  int exit_status_ = 0;
  // After a death: when the rest gets the next push, and which. SIGTERM comes first, then SIGKILL.
  std::optional<base::Deadline> push_at_;
  int push_with_ = SIGTERM;
  Stalls stalls_;
};

Result<int> Run::watch() {
  while (left_ > 0) {
    std::array<pollfd, 5> entries{{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = server_.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = crew_.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = output_.waits_for(1), .events = POLLOUT, .revents = 0},
                                   {.fd = output_.waits_for(2), .events = POLLOUT, .revents = 0}}};
    ::poll(entries.data(), entries.size(), milliseconds_to_wait());
    server_.serve();
    abort_if_asked();
    const bool children = forward_signals();
    output_.flush();
    crew_.serve();
    if (auto failure = crew_.failure()) return std::unexpected(std::move(*failure));
    collect_ended(children);
    press_on_if_due();
    report_stalls_if_due();
  }
  output_.finish();
  if (const int problem = output_.problem(); problem != 0) {
    log_.warning("output of the job is lost: it cannot be written: " + std::generic_category().message(problem));
    output_.finish();
    if (exit_status_ == 0) exit_status_ = 1;
  }
  return exit_status_;
}

int Run::milliseconds_to_wait() const {
  int least = -1;
  for (const auto& deadline : {push_at_, stalls_.due(), crew_.due()})
    if (deadline && (least < 0 || base::milliseconds_until(*deadline) < least))
      least = base::milliseconds_until(*deadline);
  return least;
}

void Run::report_stalls_if_due() {
  const base::Deadline now = base::Clock::now();
  for (store::Stall& stall : server_.take_stalls()) stalls_.add(std::move(stall), now);
  if (!stalls_.due() || now < *stalls_.due()) return;
  std::vector<bool> running;
  for (std::uint32_t rank = 0; rank < job_.processes; ++rank) running.push_back(crew_.runs(rank));
  for (const std::string& line : stalls_.report(running, now)) log_.warning(line);
}

bool Run::forward_signals() {
  bool children = false;
  while (const auto number = signals_.next()) {
    children = children || *number == SIGCHLD;
    if (*number != SIGCHLD && *number != SIGPIPE) signal_all(*number);
  }
  return children;
}

void Run::signal_all(int number) {
  if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGKILL) output_.be_brief();
  crew_.signal_all(number);
}

void Run::collect_ended(bool children) {
  std::vector<Ended> ended = crew_.take_ended(children);
  for (const Ended& each : ended) {
    --left_;
    server_.hear_out(each.rank); // a goodbye must count before the end of the process that said it
  }
  abort_if_asked(); // so must the wish that the job end
  // Of those seen at once, the killed ones are the cause, or else those without a goodbye, and the ones with a status the
  // consequence, hardly ever the reverse.
  std::ranges::sort(ended, {}, [&](const Ended& each) {
    return std::pair(each.ending.killed ? 0 : ended_in_silence(each.rank, each.ending) ? 1 : 2, each.rank);
  });
  for (const Ended& each : ended) judge(each);
}

bool Run::ended_in_silence(std::uint32_t rank, const Ending& ending) const {
  const store::Presence presence = server_.presence(rank);
  return ending.success() && (presence == store::Presence::joined || presence == store::Presence::failed);
}

void Run::judge(const Ended& ended) {
  const auto& [rank, ending, how, ago] = ended;
  const bool silent = ended_in_silence(rank, ending);
  if (exit_status_ == 0) exit_status_ = silent ? kEndedInSilence : ending.exit_status();
  if (ending.success() && !silent) {
    server_.declare_left(rank); // or it never joined, and nobody has met it
    return;
  }
  // Also of one that left in good order: its work is most likely not done, and the others would wait for it without a word.
  server_.declare_failed(rank);
  if (push_at_) return; // one line for the first; the others follow from it
  std::string line = "rank " + std::to_string(rank) + " " +
                     (!how.empty() ? how
                      : silent     ? "ended without leaving the job"
                                   : describe(ending));
  if (job_.survive) {
    if (left_ > 0) line += "; the others go on";
    log_.error(line);
    return;
  }
  const std::chrono::milliseconds grace = std::max(job_.grace - ago, std::chrono::milliseconds(0));
  if (left_ > 0) line += "; the others are ended in " + std::to_string(grace.count() / 1000) + " s";
  log_.error(line);
  push_at_ = base::deadline_in(grace);
}

// By the program's own word, so nobody is given time.
void Run::abort_if_asked() {
  const auto abort = server_.take_abort();
  if (!abort || push_at_) return;
  if (exit_status_ == 0) exit_status_ = abort->status;
  log_.error("rank " + std::to_string(abort->rank) + " has ended the job with status " + std::to_string(abort->status));
  push_at_ = base::Clock::now();
}

void Run::press_on_if_due() {
  if (!push_at_ || base::Clock::now() < *push_at_) return;
  signal_all(push_with_);
  push_with_ = SIGKILL;
  push_at_ = base::deadline_in(std::min(job_.grace, kLongestWarning));
}

} // namespace

Result<int> run(const JobDescription& job) {
  if (job.command.empty() || job.processes == 0 || job.processes > kMostProcesses) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "a job needs a program and 1 to 65536 processes, got " + std::to_string(job.processes)});
  }
  const Signals signals;
  if (signals.descriptor() < 0) return std::unexpected(system_error("cannot receive signals", errno));
  Output output(job.label);
  // Whoever takes none of its lines does not keep the launcher from ending the job.
  const base::Log log(LogLevel::warning, kNoPeer, [&output](std::string_view line) { output.add_own(line); });
  base::make_room_for_descriptors(job.processes, job.hosts.size());
  const std::string job_id = store::new_job_id();
  const auth::Secret secret = auth::Secret::draw();
  auto server = store::Server::start({.size = job.processes, .job = job_id, .by_tcp = by_tcp(job, secret), .log = log});
  if (!server) return std::unexpected(std::move(server).error());
  if (auto room = base::check_room_for_descriptors(job.processes, job.hosts.size(), "the launcher"); !room)
    return std::unexpected(std::move(room).error());
  const Variables ours = job_variables(job.processes, job_id, (*server)->address(), secret);
  std::unique_ptr<Crew> crew;
  if (job.hosts.empty())
    crew = std::make_unique<LocalCrew>(Share{.command = job.command,
                                             .environment = with_variables(ours),
                                             .first = 0,
                                             .count = job.processes,
                                             .bind = job.bind,
                                             .signal_mask = signals.before()});
  else
    crew = std::make_unique<RemoteCrew>(job, ours, secret, signals.before(), output, log);
  if (auto started = crew->start(); !started) return std::unexpected(std::move(started).error());
  return Run(job, log, **server, signals, *crew, output).watch();
}

} // namespace heddle::launch
