// The launcher's side of its agents: what they report, and how one is lost. How they are started: remote_start.cpp.
#include "launch/remote_crew.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "heddle/version.hpp"
#include "launch/agent_wire.hpp"

namespace heddle::launch {

namespace {

constexpr std::chrono::seconds kPatience{30}; // for all agents to report
constexpr std::chrono::milliseconds kBetweenLooks{1000};
constexpr std::chrono::seconds kGoodbye{5};  // for agents to end on their own
constexpr std::size_t kMostOutput = 1 << 20; // that is to be written: then agents are not read from

std::string first_word(const std::vector<std::string>& words) {
  return words.empty() ? "" : words.front();
}

} // namespace

RemoteCrew::RemoteCrew(const JobDescription& job, Variables variables, const auth::Secret& secret,
                       const sigset_t& signal_mask, const base::Log& log)
    : job_(job),
      variables_(std::move(variables)),
      secret_(secret),
      signal_mask_(signal_mask),
      log_(log),
      output_(job.label),
      runs_(job.processes) {
  std::erase_if(variables_, [](const auto& each) { return each.first == auth::kSecretVariable; });
}

Result<void> RemoteCrew::start() {
  poller_ = base::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller_.open()) return std::unexpected(system_error("cannot wait for agents", errno));
  auto door = auth::Door::open(
      {.host = job_.address, .ports = job_.ports, .secret = secret_, .service = kAgentService, .log = log_});
  if (!door) return std::unexpected(std::move(door.error()));
  door_ = std::move(*door);
  watch(door_->descriptor(), false);
  deadline_ = base::deadline_in(kPatience);
  next_look_ = base::deadline_in(kBetweenLooks);
  std::uint32_t first = 0;
  places_.resize(job_.hosts.size());
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    place.host = &job_.hosts[i];
    place.number = i;
    place.first = first;
    first += place.host->processes;
    if (auto started = start_agent(place); !started) return started;
  }
  return {};
}

void RemoteCrew::watch(int descriptor, bool writes) {
  epoll_event wanted{.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.fd = descriptor}};
  if (::epoll_ctl(poller_.number(), EPOLL_CTL_MOD, descriptor, &wanted) != 0 && errno == ENOENT)
    ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, descriptor, &wanted);
}

void RemoteCrew::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

// --- what comes ---

void RemoteCrew::serve() {
  admit();
  hear_newcomers();
  for (Place& place : places_)
    if (place.link != nullptr && output_.waiting() < kMostOutput) hear(place);
  output_.flush();
  for (std::uint8_t stream = 1; stream <= 2; ++stream) {
    if (!output_.is_closed(stream) || std::exchange(hushed_[stream - 1], true)) continue;
    for (const Place& place : places_)
      if (place.link != nullptr) place.link->send(agent_frame(AgentKind::hush).u8(stream).finish());
  }
  pass_on_input();
  collect_shells();
  look_at_clock();
  for (const Place& place : places_)
    if (place.link != nullptr) watch(place.link->descriptor(), place.link->waiting() > 0);
}

void RemoteCrew::admit() {
  for (base::Descriptor& socket : door_->admit()) {
    watch(socket.number(), false);
    newcomers_.emplace_back(std::move(socket));
  }
}

void RemoteCrew::hear_newcomers() {
  for (auto each = newcomers_.begin(); each != newcomers_.end();) {
    const bool open = each->read();
    const auto frame = each->next();
    if (open && !frame) {
      ++each;
      continue;
    }
    if (frame && static_cast<AgentKind>(frame->kind) == AgentKind::hello) {
      net::BodyReader reader(frame->body);
      const auto number = reader.u32();
      const auto theirs = reader.text();
      if (reader.finished() && *number < places_.size() && places_[*number].link == nullptr && !places_[*number].lost) {
        Place& place = places_[*number];
        if (net::as_characters(*theirs) != version())
          fail({.code = ErrorCode::bad_argument,
                .fact = "host " + place.host->name + " has Heddle " +
                        std::string(net::as_characters(*theirs).substr(0, 40)) + ", this one is " +
                        std::string(version()),
                .remedy = "install one version everywhere, or name its program by --agent"});
        place.link = std::make_unique<Link>(std::move(*each));
      }
    }
    each = newcomers_.erase(each);
  }
  if (!all_ordered_ && std::ranges::all_of(places_, [](const Place& place) { return place.link != nullptr; }))
    start_processes();
}

void RemoteCrew::hear(Place& place) {
  place.link->flush();
  const bool open = place.link->read();
  while (place.link != nullptr) {
    const auto frame = place.link->next();
    if (!frame) break;
    obey(place, *frame);
  }
  if (!open) lose(place, "its agent has ended");
}

bool RemoteCrew::holds(const Place& place, std::uint32_t rank) const {
  return rank >= place.first && rank - place.first < place.host->processes;
}

void RemoteCrew::obey(Place& place, const net::Frame& frame) {
  net::BodyReader reader(frame.body);
  switch (static_cast<AgentKind>(frame.kind)) {
    case AgentKind::started: place.started = true; return;
    case AgentKind::refused: {
      const auto code = reader.i64();
      const auto fact = reader.text();
      fail({.code = ErrorCode::bad_argument,
            .fact = "host " + place.host->name + ": " +
                    (reader.finished() ? std::string(net::as_characters(*fact)) : "its agent cannot start the job"),
            .system_code = static_cast<int>(code.value_or(0))});
      return;
    }
    case AgentKind::output: return take_output(frame);
    case AgentKind::ended: return take_ended_of(place, frame);
    case AgentKind::taken:
      if (const auto taken = reader.u32()) input_sent_ -= std::min<std::size_t>(input_sent_, *taken);
      return;
    case AgentKind::hello:
    case AgentKind::start:
    case AgentKind::signal:
    case AgentKind::input:
    case AgentKind::hush:
    case AgentKind::finish: return; // not the agent's to say
  }
}

void RemoteCrew::take_output(const net::Frame& frame) {
  net::BodyReader reader(frame.body);
  const auto rank = reader.u32();
  const auto stream = reader.u8();
  const auto bytes = reader.text();
  if (reader.finished() && *rank < runs_.size()) output_.add(*rank, *stream, *bytes);
}

void RemoteCrew::take_ended_of(const Place& place, const net::Frame& frame) {
  net::BodyReader reader(frame.body);
  const auto rank = reader.u32();
  const auto killed = reader.u8();
  const auto number = reader.i64();
  if (!reader.finished() || !holds(place, *rank) || !runs_[*rank]) return;
  runs_[*rank] = false;
  output_.end(*rank);
  ended_.push_back({.rank = *rank, .ending = {.killed = *killed != 0, .number = static_cast<int>(*number)}});
}

// --- the end of a host ---

void RemoteCrew::lose(Place& place, const std::string& why) {
  if (place.lost) return;
  place.lost = true;
  place.link.reset();
  if (!place.started)
    return fail({.code = ErrorCode::unreachable, .fact = "host " + place.host->name + " is lost: " + why});
  for (std::uint32_t rank = place.first; holds(place, rank); ++rank) {
    if (!runs_[rank]) continue;
    runs_[rank] = false;
    output_.end(rank);
    ended_.push_back({.rank = rank,
                      .ending = {.killed = true, .number = SIGKILL},
                      .how = "is lost with host " + place.host->name + ": " + why});
  }
}

void RemoteCrew::collect_shells() {
  for (Place& place : places_) {
    if (place.shell == 0) continue;
    const auto ending = collect(place.shell);
    if (!ending) continue;
    place.shell = 0;
    if (place.link != nullptr || place.lost) continue;
    const std::string shell =
        place.host->is_here() ? "its agent " : "the remote shell '" + first_word(job_.shell) + "' ";
    fail({.code = ErrorCode::unreachable,
          .fact = "host " + place.host->name + " is not reached: " + shell + describe(*ending),
          .remedy = "try: " + first_word(job_.shell) + " " + place.host->name + " " + job_.agent + " --version"});
  }
}

void RemoteCrew::look_at_clock() {
  const base::Deadline now = base::Clock::now();
  if (now < next_look_) return;
  next_look_ = base::deadline_in(kBetweenLooks);
  for (Place& place : places_) {
    if (place.link != nullptr && place.link->is_silent())
      lose(place, "it has not answered for " + std::to_string(kAgentSilence.count()) + " s");
    if (place.link == nullptr && !place.lost && now > deadline_)
      fail({.code = ErrorCode::timed_out,
            .fact = "host " + place.host->name + " is not reached: no agent has reported from there in " +
                    std::to_string(kPatience.count()) + " s",
            .remedy = "see that it reaches " + door_->endpoint().text()});
  }
}

// --- what goes out ---

void RemoteCrew::signal_all(int number) {
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP;
  if (!all_ordered_ && ends)
    return fail({.code = ErrorCode::cancelled, .fact = "interrupted before the job had started"});
  for (const Place& place : places_)
    if (place.link != nullptr)
      place.link->send(agent_frame(AgentKind::signal).u32(static_cast<std::uint32_t>(number)).finish());
}

void RemoteCrew::pass_on_input() {
  if (!reads_input_ || places_.front().link == nullptr) return;
  while (input_sent_ + kLargestPiece <= kMostInput) {
    pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 0) <= 0) return;
    std::array<std::byte, kLargestPiece> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    const std::size_t count = got > 0 ? static_cast<std::size_t>(got) : 0;
    places_.front().link->send(agent_frame(AgentKind::input).text(std::span(bytes).first(count)).finish());
    input_sent_ += count;
    if (count > 0) continue;
    reads_input_ = false;
    ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, STDIN_FILENO, nullptr);
    return;
  }
}

std::vector<Ended> RemoteCrew::take_ended(bool) {
  return std::exchange(ended_, {});
}

void RemoteCrew::finish() {
  output_.finish();
}

RemoteCrew::~RemoteCrew() {
  output_.finish();
  for (const Place& place : places_)
    if (place.link != nullptr) place.link->send(agent_frame(AgentKind::finish).finish());
  newcomers_.clear();
  for (const Place& place : places_) // whose agent has not come, and now finds nobody
    if (place.link == nullptr && place.shell != 0) ::kill(-place.shell, SIGKILL);
  // An agent has ended its processes when its connection ends.
  const base::Deadline deadline = base::deadline_in(kGoodbye);
  const auto busy = [](const Place& place) { return place.link != nullptr || place.shell != 0; };
  while (std::ranges::any_of(places_, busy) && base::Clock::now() < deadline) {
    for (Place& place : places_) {
      if (place.link != nullptr) {
        place.link->flush();
        if (!place.link->read()) place.link.reset();
        while (place.link != nullptr && place.link->next()) {
        }
      }
      if (place.shell != 0 && (place.link == nullptr || place.lost) && collect(place.shell)) place.shell = 0;
    }
    ::poll(nullptr, 0, 2);
  }
  for (Place& place : places_) {
    if (place.shell == 0) continue;
    ::kill(-place.shell, SIGKILL);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(place.shell), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    collect(place.shell);
  }
}

} // namespace heddle::launch
