#include "launch/launcher.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/environment.hpp"
#include "launch/descriptor_limit.hpp"
#include "launch/process.hpp"
#include "launch/signals.hpp"
#include "launch/stalls.hpp"
#include "store/address.hpp"
#include "store/server.hpp"

namespace heddle::launch {
namespace {

constexpr std::chrono::milliseconds kLongestWarning{2000}; // between SIGTERM and SIGKILL
constexpr int kEndedInSilence = 1; // the exit status of a job where a process has failed with status 0

Error system_error(std::string fact, int code) {
  const bool descriptors = code == EMFILE || code == ENFILE;
  return {.code = descriptors ? ErrorCode::out_of_descriptors : ErrorCode::system_failed,
          .fact = std::move(fact),
          .remedy = descriptors ? "raise the limit on open files (ulimit -n)" : "",
          .peer = kNoPeer,
          .system_code = code};
}

std::vector<std::string> environment_of(const std::string& job_id, const std::string& store, const auth::Secret& secret,
                                        std::uint32_t rank, std::uint32_t size) {
  const std::array<base::Environment::Variable, 5> ours{{{"HEDDLE_RANK", std::to_string(rank)},
                                                         {"HEDDLE_SIZE", std::to_string(size)},
                                                         {"HEDDLE_JOB", job_id},
                                                         {"HEDDLE_STORE", store},
                                                         {std::string(auth::kSecretVariable), secret.text()}}};
  std::vector<std::string> result;
  const base::Environment inherited = base::Environment::of_process();
  for (const auto& [name, value] : inherited.variables()) {
    if (std::ranges::find(ours, name, &base::Environment::Variable::first) == ours.end()) {
      result.push_back(name + "=" + value);
    }
  }
  for (const auto& [name, value] : ours) result.push_back(name + "=" + value);
  return result;
}

class Run {
 public:
  Run(const JobDescription& job, const base::Log& log, store::Server& server, const Signals& signals,
      std::string job_id)
      : job_(job), log_(log), server_(server), signals_(signals), job_id_(std::move(job_id)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { end_all(); }

  Result<void> start_all();
  int watch();

 private:
  ProcessPlan plan_for(std::uint32_t rank, int failure_pipe) const;
  void signal_all(int number) const;
  void collect_ended();
  // Whether it ended well in the eyes of the system, but as a member of the job without a goodbye.
  [[nodiscard]] bool ended_in_silence(std::uint32_t rank, const Ending& ending) const;
  void judge(std::uint32_t rank, const Ending& ending);
  // True where processes may have ended.
  bool forward_signals();
  void press_on_if_due();
  void report_stalls_if_due();
  [[nodiscard]] int milliseconds_to_wait() const;
  void end_all();

  const JobDescription& job_;
  const base::Log& log_;
  store::Server& server_;
  const Signals& signals_;
  std::string job_id_;
  const auth::Secret secret_ = auth::Secret::draw();
  std::vector<pid_t> running_; // by rank; 0 when it has ended
  std::uint32_t left_ = 0;     // how many still run
  int exit_status_ = 0;
  // After a death: when the rest gets the next push, and which. SIGTERM comes first, then SIGKILL.
  std::optional<base::Deadline> push_at_;
  int push_with_ = SIGTERM;
  Stalls stalls_;
};

ProcessPlan Run::plan_for(std::uint32_t rank, int failure_pipe) const {
  ProcessPlan plan{.command = job_.command,
                   .environment = environment_of(job_id_, server_.address(), secret_, rank, job_.processes),
                   .signal_mask = signals_.before(),
                   .cpu = {},
                   // A terminal would stop a process that is not in its foreground group.
                   .keeps_stdin = rank == 0 && ::isatty(STDIN_FILENO) == 0,
                   .failure_pipe = failure_pipe};
  const std::vector<int> cpus = allowed_cpus();
  const bool bind = job_.bind == Binding::always || (job_.bind == Binding::automatic && job_.processes <= cpus.size());
  if (bind && !cpus.empty()) plan.cpu = cpus[rank % cpus.size()];
  return plan;
}

Result<void> Run::start_all() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("cannot create a pipe", errno));
  const base::Descriptor failures(ends[0]);
  base::Descriptor report(ends[1]);
  running_.assign(job_.processes, 0);
  for (std::uint32_t rank = 0; rank < job_.processes; ++rank) {
    auto process = start_process(plan_for(rank, report.number()));
    if (!process) return std::unexpected(std::move(process).error());
    running_[rank] = *process;
    ++left_;
  }
  report.reset();
  // Every program that starts closes its end of the pipe; so this ends when all have started, or with the first errno.
  int code = 0;
  ssize_t count = 0;
  while ((count = ::read(failures.number(), &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (count == static_cast<ssize_t>(sizeof code)) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the program '" + job_.command.front() + "' cannot be started",
                                 .remedy = "",
                                 .peer = kNoPeer,
                                 .system_code = code});
  }
  return {};
}

int Run::watch() {
  while (left_ > 0) {
    std::array<pollfd, 2> entries{{{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = server_.descriptor(), .events = POLLIN, .revents = 0}}};
    ::poll(entries.data(), entries.size(), milliseconds_to_wait());
    server_.serve();
    if (forward_signals()) collect_ended();
    press_on_if_due();
    report_stalls_if_due();
  }
  return exit_status_;
}

int Run::milliseconds_to_wait() const {
  int least = -1;
  for (const auto& deadline : {push_at_, stalls_.due()})
    if (deadline && (least < 0 || base::milliseconds_until(*deadline) < least))
      least = base::milliseconds_until(*deadline);
  return least;
}

void Run::report_stalls_if_due() {
  const base::Deadline now = base::Clock::now();
  for (store::Stall& stall : server_.take_stalls()) stalls_.add(std::move(stall), now);
  if (!stalls_.due() || now < *stalls_.due()) return;
  std::vector<bool> running;
  for (const pid_t process : running_) running.push_back(process != 0);
  for (const std::string& line : stalls_.report(running, now)) log_.warning(line);
}

bool Run::forward_signals() {
  bool ended = false;
  while (const auto number = signals_.next()) {
    ended = ended || *number == SIGCHLD;
    if (*number != SIGCHLD) signal_all(*number);
  }
  return ended;
}

void Run::collect_ended() {
  std::vector<std::pair<std::uint32_t, Ending>> ended;
  for (std::uint32_t rank = 0; rank < job_.processes; ++rank) {
    if (running_[rank] == 0) continue;
    const auto ending = collect(running_[rank]);
    if (!ending) continue;
    running_[rank] = 0;
    --left_;
    server_.hear_out(rank); // a goodbye must count before the end of the process that said it
    ended.emplace_back(rank, *ending);
  }
  // Of those seen at once, the killed ones are the cause, or else those without a goodbye, and the ones with a status the
  // consequence, hardly ever the reverse.
  std::ranges::sort(ended, {}, [&](const auto& entry) {
    const auto& [rank, ending] = entry;
    return std::pair(ending.killed ? 0 : ended_in_silence(rank, ending) ? 1 : 2, rank);
  });
  for (const auto& [rank, ending] : ended) judge(rank, ending);
}

bool Run::ended_in_silence(std::uint32_t rank, const Ending& ending) const {
  const store::Presence presence = server_.presence(rank);
  return ending.success() && (presence == store::Presence::joined || presence == store::Presence::failed);
}

void Run::judge(std::uint32_t rank, const Ending& ending) {
  const bool silent = ended_in_silence(rank, ending);
  if (exit_status_ == 0) exit_status_ = silent ? kEndedInSilence : ending.exit_status();
  if (ending.success() && !silent) {
    server_.declare_left(rank); // or it never joined, and nobody has met it
    return;
  }
  // Also of one that left in good order: its work is most likely not done, and the others would wait for it without a word.
  server_.declare_failed(rank);
  if (push_at_) return; // one line for the first; the others follow from it
  std::string line =
      "rank " + std::to_string(rank) + " " + (silent ? "ended without leaving the job" : describe(ending));
  if (job_.survive) {
    if (left_ > 0) line += "; the others go on";
    log_.error(line);
    return;
  }
  if (left_ > 0) line += "; the others are ended in " + std::to_string(job_.grace.count() / 1000) + " s";
  log_.error(line);
  push_at_ = base::deadline_in(job_.grace);
}

void Run::press_on_if_due() {
  if (!push_at_ || base::Clock::now() < *push_at_) return;
  signal_all(push_with_);
  push_with_ = SIGKILL;
  push_at_ = base::deadline_in(std::min(job_.grace, kLongestWarning));
}

void Run::signal_all(int number) const {
  for (const pid_t process : running_) {
    if (process != 0) ::kill(-process, number);
  }
}

void Run::end_all() {
  signal_all(SIGKILL);
  for (pid_t& process : running_) {
    while (process != 0) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
      collect(process);
      process = 0;
    }
  }
}

} // namespace

Result<int> run(const JobDescription& job, const base::Log& log) {
  if (job.command.empty() || job.processes == 0 || job.processes > kMostProcesses) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "a job needs a program and 1 to 65536 processes, got " + std::to_string(job.processes)});
  }
  const Signals signals;
  if (signals.descriptor() < 0) return std::unexpected(system_error("cannot receive signals", errno));
  make_room_for_descriptors(job.processes);
  std::string job_id = store::new_job_id();
  auto server = store::Server::start({.size = job.processes, .job = job_id, .log = log});
  if (!server) return std::unexpected(std::move(server).error());
  if (auto room = check_room_for_descriptors(job.processes); !room) return std::unexpected(std::move(room).error());
  Run run(job, log, **server, signals, std::move(job_id));
  if (auto started = run.start_all(); !started) return std::unexpected(std::move(started).error());
  return run.watch();
}

} // namespace heddle::launch
