// The launcher's side of its agents while a job runs. How they are started: remote_start.cpp; how one is lost: remote_end.cpp.
#include "launch/remote_crew.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "heddle/version.hpp"
#include "launch/agent_wire.hpp"

namespace heddle::launch {

namespace {

constexpr std::size_t kMostOutput = 1 << 20; // that is to be written: then agents are not read from

} // namespace

RemoteCrew::RemoteCrew(const JobDescription& job, Variables variables, const auth::Secret& secret,
                       const sigset_t& signal_mask, Output& output, const base::Log& log)
    : job_(job),
      variables_(std::move(variables)),
      secret_(secret),
      signal_mask_(signal_mask),
      output_(output),
      log_(log),
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
  watch(door_->descriptor(), true, false);
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

void RemoteCrew::watch(int descriptor, bool reads, bool writes) {
  epoll_event wanted{.events = (reads ? std::uint32_t{EPOLLIN} : 0U) | (writes ? std::uint32_t{EPOLLOUT} : 0U),
                     .data = {.fd = descriptor}};
  if (wanted.events == 0) // the system tells of an end even who asks for nothing
    ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
  else if (::epoll_ctl(poller_.number(), EPOLL_CTL_MOD, descriptor, &wanted) != 0 && errno == ENOENT)
    ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, descriptor, &wanted);
}

void RemoteCrew::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

// --- what comes ---

void RemoteCrew::serve() {
  admit();
  hear_newcomers();
  for (Place& place : places_) {
    if (place.link != nullptr) place.link->flush(); // also while nobody takes what its processes say
    if (place.link != nullptr && output_.waiting() < kMostOutput) hear(place);
  }
  output_.flush();
  for (std::uint8_t stream = 1; stream <= 2; ++stream) {
    if (!output_.is_closed(stream) || std::exchange(hushed_[stream - 1], true)) continue;
    for (const Place& place : places_)
      if (place.link != nullptr) place.link->send(HushOrder{.stream = stream}.encode());
  }
  pass_on_input();
  collect_shells();
  look_at_clock();
  watch_all();
}

// Nothing that is ready and would not be used now: that would be no waiting.
void RemoteCrew::watch_all() {
  const bool reads = output_.waiting() < kMostOutput;
  for (const Place& place : places_)
    if (place.link != nullptr) watch(place.link->descriptor(), reads, place.link->waiting() > 0);
  watch(STDIN_FILENO, reads_input_ && takes_input(), false);
}

void RemoteCrew::admit() {
  for (base::Descriptor& socket : door_->admit()) {
    watch(socket.number(), true, false);
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
      const auto hello = AgentHello::decode(frame->body);
      if (hello && hello->host < places_.size() && places_[hello->host].link == nullptr && !places_[hello->host].lost) {
        Place& place = places_[hello->host];
        if (hello->version != version())
          fail({.code = ErrorCode::bad_argument,
                .fact = "host " + place.host->name + " has Heddle " + std::string(hello->version.substr(0, 40)) +
                        ", this one is " + std::string(version()),
                .remedy = "install one version everywhere, or name its program by --agent"});
        place.link = std::make_unique<Link>(std::move(*each));
      }
    }
    each = newcomers_.erase(each);
  }
  if (all_ordered_ || failure_) return;
  if (std::ranges::all_of(places_, [](const Place& place) { return place.link != nullptr; })) start_processes();
}

void RemoteCrew::hear(Place& place) {
  const bool open = place.link->read();
  while (place.link != nullptr) {
    const auto frame = place.link->next();
    if (!frame) break;
    obey(place, *frame);
  }
  if (open || place.link == nullptr) return;
  const int problem = place.link->problem();
  if (problem == ETIMEDOUT || problem == EHOSTUNREACH || problem == ENETUNREACH)
    lose_silent(place);
  else
    lose(place, "its agent has ended");
}

bool RemoteCrew::holds(const Place& place, std::uint32_t rank) const {
  return rank >= place.first && rank - place.first < place.host->processes;
}

void RemoteCrew::obey(Place& place, const net::Frame& frame) {
  switch (static_cast<AgentKind>(frame.kind)) {
    case AgentKind::started: place.started = true; return;
    case AgentKind::refused: {
      const auto refusal =
          AgentRefusal::decode(frame.body).value_or(AgentRefusal{.fact = "its agent cannot start the job"});
      fail({.code = ErrorCode::bad_argument,
            .fact = "host " + place.host->name + ": " + std::string(refusal.fact),
            .system_code = refusal.code});
      return;
    }
    case AgentKind::output: return take_output_of(place, frame);
    case AgentKind::ended: return take_ended_of(place, frame);
    case AgentKind::taken:
      if (const auto taken = AgentTaken::decode(frame.body); taken && holds(place, 0))
        input_sent_ -= std::min<std::size_t>(input_sent_, taken->bytes);
      return;
    case AgentKind::hello:
    case AgentKind::start:
    case AgentKind::signal:
    case AgentKind::input:
    case AgentKind::hush:
    case AgentKind::finish: return; // not the agent's to say
  }
}

void RemoteCrew::take_output_of(const Place& place, const net::Frame& frame) {
  const auto said = AgentOutput::decode(frame.body);
  if (said && holds(place, said->rank)) output_.add(said->rank, said->stream, said->bytes);
}

void RemoteCrew::take_ended_of(const Place& place, const net::Frame& frame) {
  const auto ended = AgentEnded::decode(frame.body);
  if (!ended || !holds(place, ended->rank) || !runs_[ended->rank]) return;
  runs_[ended->rank] = false;
  output_.end(ended->rank);
  ended_.push_back({.rank = ended->rank, .ending = ended->ending});
}

// --- what goes out ---

void RemoteCrew::signal_all(int number) {
  const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP;
  if (!all_ordered_ && ends)
    return fail({.code = ErrorCode::cancelled, .fact = "interrupted before the job had started"});
  for (const Place& place : places_)
    if (place.link != nullptr) place.link->send(SignalOrder{.number = number}.encode());
}

bool RemoteCrew::takes_input() const {
  return input_sent_ + kLargestPiece <= kMostInput;
}

void RemoteCrew::pass_on_input() {
  if (!reads_input_ || places_.front().link == nullptr) return;
  while (takes_input()) {
    pollfd entry{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 0) <= 0) return;
    std::array<std::byte, kLargestPiece> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    const std::size_t count = got > 0 ? static_cast<std::size_t>(got) : 0;
    places_.front().link->send(InputOrder{.bytes = std::span(bytes).first(count)}.encode());
    input_sent_ += count;
    if (count > 0) continue;
    reads_input_ = false;
    return;
  }
}

std::vector<Ended> RemoteCrew::take_ended(bool) {
  return std::exchange(ended_, {});
}

} // namespace heddle::launch
