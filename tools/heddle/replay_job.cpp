#include "workloads.hpp"

#include "world/setup.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {
namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;
using traffic::JobStep;
using Steps = std::vector<JobStep>;

[[noreturn]] void fail(const JobStep& step, const std::string& why) {
  throw std::runtime_error("line " + std::to_string(step.place.line) + " of the job: " + why);
}

void check(const JobStep& step, ErrorCode code) {
  if (code != ErrorCode::ok) fail(step, "ended with " + std::string(to_string(code)));
}

Request checked(const JobStep& step, const Result<Request>& request) {
  if (!request) fail(step, request.error().message());
  return *request;
}

// Nobody looks at what arrives, so all that a process receives may come to lie in one place.
std::uint64_t memory_of(const Steps& steps, std::uint64_t ranks) {
  std::uint64_t most = 0;
  for (const JobStep& step : steps) {
    const std::uint64_t blocks = step.kind == JobStep::Kind::alltoall ? ranks : 1;
    const bool fits = step.bytes <= std::numeric_limits<std::uint64_t>::max() / blocks;
    most = std::max(most, fits ? step.bytes * blocks : std::numeric_limits<std::uint64_t>::max());
  }
  return most;
}

std::uint64_t sent_by(const Steps& steps, std::uint64_t ranks) {
  std::uint64_t bytes = 0;
  for (const JobStep& step : steps) {
    if (step.kind == JobStep::Kind::send) bytes += step.bytes;
    if (step.kind == JobStep::Kind::alltoall) bytes += step.bytes * (ranks - 1);
  }
  return bytes;
}

Task carry_out(Peer& peer, const Steps& steps) {
  const std::uint64_t bytes = memory_of(steps, peer.size());
  const std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  std::vector<Request> begun;
  for (const JobStep& step : steps) {
    const std::span from = std::span(out).first(step.kind == JobStep::Kind::alltoall ? 0 : step.bytes);
    switch (step.kind) {
      case JobStep::Kind::send:
        begun.push_back(checked(step, peer.context().send(Rank{*step.with}, Tag{step.tag}, from)));
        break;
      case JobStep::Kind::receive: {
        const Match match{.source = step.with ? Rank{*step.with} : kAnySource, .tag = Tag{step.tag}};
        begun.push_back(checked(step, peer.context().receive(match, std::span(in).first(step.bytes))));
        break;
      }
      case JobStep::Kind::wait: {
        const ErrorCode code = co_await peer.wait_all(begun);
        check(step, code);
        begun.clear();
        break;
      }
      case JobStep::Kind::compute: co_await peer.compute(Time(static_cast<std::int64_t>(step.us * 1e6))); break;
      case JobStep::Kind::barrier: {
        const Completion met = co_await peer.barrier();
        check(step, met.code);
        break;
      }
      case JobStep::Kind::alltoall: {
        const std::uint64_t all = step.bytes * peer.size();
        const Request request =
            checked(step, peer.context().start_alltoall(std::span(out).first(all), std::span(in).first(all)));
        const Completion exchanged = co_await peer.wait(request);
        check(step, exchanged.code);
        break;
      }
    }
  }
  if (begun.empty()) co_return;
  const ErrorCode code = co_await peer.wait_all(begun);
  check(steps.back(), code);
}

} // namespace

Result<Measured> replay_job(simulation::World& world, const traffic::Job& job) {
  const std::uint64_t ranks = job.ranks.size();
  std::uint64_t needed = 0;
  Measured measured;
  for (const Steps& steps : job.ranks) {
    const std::uint64_t one = memory_of(steps, ranks);
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - needed;
    needed = one > room / 2 ? std::numeric_limits<std::uint64_t>::max() : needed + 2 * one;
    measured.bytes += sent_by(steps, ranks);
  }
  if (auto enough = simulation::check_memory("the messages of the job", needed); !enough)
    return std::unexpected(std::move(enough.error()));
  auto outcome = world.run([&](Peer& peer) { return carry_out(peer, job.ranks[std::to_underlying(peer.rank())]); });
  if (!outcome) return std::unexpected(std::move(outcome.error()));
  if (!outcome->errors.empty())
    return std::unexpected(Error{.code = ErrorCode::peer_failed, .fact = outcome->errors.front()});
  measured.time = outcome->time;
  measured.outcome = std::move(*outcome);
  return measured;
}

} // namespace heddle::tool
