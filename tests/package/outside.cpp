// A program of somebody else's that uses what every public header declares. Run by two processes: heddle run -n 2 outside
#include <heddle/collective.hpp>
#include <heddle/error.hpp>
#include <heddle/heddle.hpp>
#include <heddle/layout.hpp>
#include <heddle/onesided.hpp>
#include <heddle/options.hpp>
#include <heddle/pattern.hpp>
#include <heddle/shared_region.hpp>
#include <heddle/simulation.hpp>
#include <heddle/version.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <utility>

namespace {

using heddle::ErrorCode;
using heddle::Rank;
using heddle::Tag;

template <typename T>
T demand(heddle::Result<T> result, const char* what) {
  if (!result) {
    std::cerr << "outside: " << what << ": " << result.error().message() << '\n';
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void demand(ErrorCode code, const char* what) {
  if (code == ErrorCode::ok) return;
  std::cerr << "outside: " << what << ": " << to_string(code) << '\n';
  std::exit(1);
}

std::uint64_t exchange(heddle::Context& job, Rank other, std::uint64_t word) {
  std::uint64_t heard = 0;
  const auto receive = demand(job.receive({.source = other, .tag = Tag{1}}, {&heard, sizeof heard}), "receive");
  const auto send = demand(job.send(other, Tag{1}, {&word, sizeof word}), "send");
  demand(job.wait(receive).code, "receive");
  demand(job.wait(send).code, "send");
  return heard;
}

std::uint64_t by_alltoall(heddle::Context& job, std::uint64_t word) {
  const std::array<std::uint64_t, 2> out{word, word};
  std::array<std::uint64_t, 2> in{};
  demand(job.alltoall(std::as_bytes(std::span(out)), std::as_writable_bytes(std::span(in))), "alltoall");
  return in[0] + in[1];
}

std::uint64_t by_pattern(heddle::Context& job, Rank other, std::uint64_t word) {
  std::uint64_t in = 0;
  auto pattern = demand(heddle::Pattern::create(job), "pattern");
  static_cast<void>(demand(pattern.send(other, Tag{1}, {&word, sizeof word}), "send of the pattern"));
  static_cast<void>(demand(pattern.receive(other, Tag{1}, {&in, sizeof in}), "receive of the pattern"));
  demand(pattern.compile(), "compile");
  static_cast<void>(demand(pattern.start(), "start"));
  demand(pattern.wait(), "wait");
  return in;
}

std::uint64_t one_sided(heddle::Context& job, Rank other, std::uint64_t word) {
  constexpr heddle::AreaId kArea{1};
  const auto area = demand(job.one_sided().allocate(kArea, sizeof word), "allocate");
  demand(job.barrier(), "barrier");
  demand(job.one_sided().push({other, kArea, 0}, std::as_bytes(std::span(&word, 1))), "push");
  demand(job.barrier(), "barrier");
  return *reinterpret_cast<const std::uint64_t*>(area.data());
}

std::uint64_t by_region(heddle::Context& job, std::uint64_t word) {
  auto region = demand(heddle::SharedRegion::create(job, heddle::AreaId{2}, 2 * sizeof word), "region");
  auto* words = reinterpret_cast<std::uint64_t*>(region.memory().data());
  words[static_cast<std::uint32_t>(job.rank())] = word;
  demand(region.barrier(), "barrier of the region");
  return words[0] + words[1];
}

heddle::simulation::Task greet(heddle::simulation::Peer& peer) {
  std::array<std::byte, 8> data{};
  const Rank other{static_cast<std::uint32_t>(peer.rank()) == 0 ? 1U : 0U};
  const auto receive = peer.context().receive({.source = other, .tag = Tag{1}}, data);
  const auto send = peer.context().send(other, Tag{1}, data);
  const std::array<heddle::Request, 2> both{*receive, *send};
  co_await peer.wait_all(both);
  co_await peer.sleep(std::chrono::microseconds(1));
}

bool simulated() {
  heddle::simulation::Setup setup;
  setup.fabric = "tofu:1x1x1";
  setup.peers = 2;
  auto world = demand(heddle::simulation::World::create(setup), "world");
  return demand(world.run(greet), "run").errors.empty();
}

} // namespace

int main() {
  heddle::Options options;
  options.log_level = heddle::LogLevel::error;
  auto job = demand(heddle::Context::join(options), "join");
  const auto rank = static_cast<std::uint32_t>(job.rank());
  const Rank other{1 - rank};
  // Rank 0 says 1, rank 1 says 2.
  const std::uint64_t own = rank + 1;
  const bool right = exchange(job, other, own) == 3 - own && by_alltoall(job, own) == 3 &&
                     by_pattern(job, other, own) == 3 - own && one_sided(job, other, own) == 3 - own &&
                     by_region(job, own) == 3 && simulated();
  const std::string word = right ? ": all of it works\n" : ": something is wrong\n";
  std::cout << "heddle " + std::string(heddle::version()) + word;
  return right ? 0 : 1;
}
