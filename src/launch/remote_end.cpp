// How a job on several machines ends: a host that is lost or never reached, and the launcher's goodbye.
#include "launch/agent_wire.hpp"
#include "launch/remote_crew.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace heddle::launch {

namespace {

constexpr std::chrono::seconds kGoodbye{5}; // for agents to end on their own

std::string first_word(const std::vector<std::string>& words) {
  return words.empty() ? "" : words.front();
}

} // namespace

void RemoteCrew::lose_silent(Place& place) {
  if (place.shell != 0) ::kill(-place.shell, SIGTERM); // it may wait for the machine for ever
  lose(place, "it has not answered for " + std::to_string(kAgentSilence.count()) + " s", kAgentSilence);
}

void RemoteCrew::lose(Place& place, const std::string& why, std::chrono::milliseconds ago) {
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
                      .how = "is lost with host " + place.host->name + ": " + why,
                      .ago = ago});
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
    if (place.link != nullptr && place.link->is_silent()) lose_silent(place);
    if (place.link == nullptr && !place.lost && now > deadline_)
      fail({.code = ErrorCode::timed_out,
            .fact = "host " + place.host->name + " is not reached: no agent has reported from there in " +
                    std::to_string(kPatience.count()) + " s",
            .remedy = "see that it reaches " + door_->endpoint().text()});
  }
}

RemoteCrew::~RemoteCrew() {
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
