// Survivors of a killed process: what each does until it learns of the death depends on the first argument.
//   barrier      passes barriers
//   alltoall     exchanges blocks of all sizes with all others
//   sleep        sleeps until an event comes
//   rendezvous   exchanges messages of 2 MiB with all others
//   eager        exchanges messages of 64 bytes with all others
//   onesided     pushes to, pulls from and adds to the memory of all others
//   pattern      runs a pattern of messages with all others again and again
// Then the survivors exchange messages in a ring among themselves, and leave.
#include "tests/job/member.hpp"
#include "tests/traffic/exchange.hpp"

#include <heddle/heddle.hpp>
#include <heddle/onesided.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace heddle::tests {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class Survivor {
 public:
  explicit Survivor(Context& context)
      : context_(context), rank_(static_cast<std::uint32_t>(context.rank())), size_(context.size()) {}

  void until_death(std::string_view what) {
    while (dead_ < 0) {
      if (what == "barrier")
        pass_barrier();
      else if (what == "alltoall")
        pass_exchange();
      else if (what == "sleep")
        look(60s);
      else if (what == "onesided")
        use_memory();
      else if (what == "pattern")
        run_pattern();
      else
        exchange(what == "eager" ? 64 : 2U << 20U);
    }
  }

  // Each sends to the next living process and receives from the one before.
  void ring_of_survivors() {
    const std::uint32_t next = neighbour(1);
    const std::uint32_t before = neighbour(size_ - 1);
    for (std::uint64_t round = 0; round < 200; ++round) {
      const std::uint64_t bytes = round % 10 == 9 ? 300'000 : 8 * (1 + round);
      std::vector<std::uint64_t> out(bytes / 8, rank_ * 1000 + round);
      std::vector<std::uint64_t> in(bytes / 8, 0);
      const Request received = demand(context_.receive({.source = Rank{before}, .tag = kRing}, in), "ring receive");
      const Request sent = demand(context_.send(Rank{next}, kRing, out), "ring send");
      demand(context_.wait(received).code == ErrorCode::ok, "a receive among survivors failed");
      demand(context_.wait(sent).code == ErrorCode::ok, "a send among survivors failed");
      demand(std::ranges::all_of(in, [&](std::uint64_t word) { return word == before * 1000 + round; }),
             "wrong bytes among survivors");
    }
    look(0ms); // a second event for the same death would be seen here
    demand(figure(context_, "peers failed") == 1, "not one peer failed");
    const auto refused = context_.send(Rank{static_cast<std::uint32_t>(dead_)}, Tag{1}, ConstLayout());
    demand(!refused && refused.error().code == ErrorCode::peer_failed, "a send to the dead was taken");
  }

 private:
  static constexpr Tag kRing{99};
  static constexpr Tag kBefore{1};
  static constexpr AreaId kArea{1};
  static constexpr std::size_t kBlock = 100'000;

  std::uint32_t neighbour(std::uint32_t distance) const {
    std::uint32_t at = (rank_ + distance) % size_;
    while (static_cast<int>(at) == dead_) at = (at + distance) % size_;
    return at;
  }

  void look(std::chrono::nanoseconds limit) {
    std::array<Event, 8> events;
    const std::size_t count = limit.count() == 0 ? context_.poll(events) : context_.wait_events(events, limit);
    for (std::size_t i = 0; i < count; ++i) {
      if (events[i].kind != Event::Kind::peer_failed) continue;
      demand(dead_ < 0, "a second death was told");
      dead_ = static_cast<int>(events[i].completion.peer);
      say("rank " + std::to_string(rank_) + " saw " + std::to_string(dead_) + " fail at " +
          std::to_string(machine_ns()));
    }
  }

  void pass_barrier() {
    const auto passed = context_.barrier();
    if (passed) return;
    demand(passed.error().code == ErrorCode::peer_failed, "a barrier: " + passed.error().message());
    while (dead_ < 0) look(60s);
  }

  // Small and large in turn, so that some are under way whatever way they take.
  void pass_exchange() {
    ExchangeRound round({.seed = 1, .size = size_, .largest = 300'000}, exchanges_++, rank_);
    const ErrorCode code = context_.wait(demand(round.start(context_), "start of an all-to-all")).code;
    if (code == ErrorCode::ok) {
      demand(round.verdict().empty(), round.verdict());
      return;
    }
    demand(code == ErrorCode::peer_failed, "an all-to-all ended with " + std::string(to_string(code)));
    while (dead_ < 0) look(60s);
  }

  static void may_fail(ErrorCode code, const std::string& what) {
    demand(code == ErrorCode::ok || code == ErrorCode::peer_failed,
           what + " ended with " + std::string(to_string(code)));
  }

  // Who knows of the death waits at no barrier, and who passes it learns of it at the next. Until all are in the ring nobody leaves.
  void use_memory() {
    OneSided& one_sided = context_.one_sided();
    if (!has_area_) {
      static_cast<void>(demand(one_sided.allocate(kArea, size_ * kBlock), "area"));
      has_area_ = true;
      return pass_barrier();
    }
    const std::vector<std::byte> out(kBlock, std::byte{5});
    std::vector<std::byte> in(kBlock);
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const Place own{Rank{peer}, kArea, rank_ * kBlock};
      may_fail(one_sided.push(own, out), "a push");
      const ErrorCode pulled = one_sided.pull(own, in);
      may_fail(pulled, "a pull");
      demand(pulled != ErrorCode::ok || in == out, "what was pushed is not what is pulled");
      const auto added = one_sided.atomic(own, Atomic::add(1));
      may_fail(added ? ErrorCode::ok : added.error().code, "an addition");
    }
    pass_barrier();
  }

  void run_pattern() {
    std::vector<std::vector<std::byte>> in(size_, std::vector<std::byte>(kBlock));
    const std::vector<std::byte> out(kBlock, std::byte{3});
    Pattern pattern = demand(Pattern::create(context_), "pattern");
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      demand(pattern.send(Rank{peer}, Tag{3}, ConstLayout(out)), "send of a pattern");
      demand(pattern.receive(Rank{peer}, Tag{3}, Layout(in[peer])), "receive of a pattern");
    }
    const auto code_of = [](const auto& result) { return result ? ErrorCode::ok : result.error().code; };
    ErrorCode code = code_of(pattern.compile());
    while (code == ErrorCode::ok) {
      code = code_of(pattern.start());
      if (code == ErrorCode::ok) code = code_of(pattern.wait());
    }
    may_fail(code, "a pattern");
    while (dead_ < 0) look(60s);
  }

  // With all others at once. Only the dead one's operations may fail, and what is left to others after it is drained by
  // cancelling, since they may have stopped already.
  void exchange(std::uint64_t bytes) {
    std::vector<std::vector<std::byte>> in(size_);
    const std::vector<std::byte> out(bytes, std::byte{7});
    std::vector<std::pair<std::uint32_t, Request>> pending;
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      in[peer].resize(bytes);
      if (const auto request = context_.receive({.source = Rank{peer}, .tag = kBefore}, in[peer]))
        pending.emplace_back(peer, *request);
      else
        demand(request.error().code == ErrorCode::peer_failed, "receive: " + request.error().message());
      if (const auto request = context_.send(Rank{peer}, kBefore, out))
        pending.emplace_back(peer, *request);
      else
        demand(request.error().code == ErrorCode::peer_failed, "send: " + request.error().message());
    }
    for (const auto& [peer, request] : pending) {
      const ErrorCode code = context_.wait(request).code;
      if (code == ErrorCode::peer_failed) failed_peer_ = peer;
      demand(code == ErrorCode::ok || code == ErrorCode::peer_failed, "ended with " + std::string(to_string(code)));
    }
    // All go through the same number of rounds, so that nobody waits for one who has stopped: the last is agreed on.
    agree_on_death();
  }

  // Everybody tells all others whether it knows of the death; whoever hears of it waits for its own event.
  void agree_on_death() {
    look(0ms);
    const std::uint64_t mine = dead_ >= 0 ? 1 : 0;
    std::vector<std::uint64_t> theirs(size_, 0);
    std::vector<Request> pending;
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const auto received = context_.receive({.source = Rank{peer}, .tag = Tag{2}}, Layout(&theirs[peer], 8));
      if (received) pending.push_back(*received);
      const auto sent = context_.send(Rank{peer}, Tag{2}, ConstLayout(&mine, 8));
      if (sent) pending.push_back(*sent);
    }
    static_cast<void>(context_.wait_all(pending)); // with a dead process it fails
    const bool known = mine != 0 || std::ranges::any_of(theirs, [](std::uint64_t word) { return word != 0; });
    while (known && dead_ < 0) look(60s);
  }

  Context& context_;
  std::uint32_t rank_;
  std::uint32_t size_;
  int dead_ = -1;
  std::uint64_t exchanges_ = 0;
  std::uint32_t failed_peer_ = 0;
  bool has_area_ = false;
};

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  if (argc < 2) give_up("arguments: barrier, alltoall, sleep, rendezvous, eager, onesided or pattern");
  say("pid " + std::to_string(::getpid()) + " of rank " + std::getenv("HEDDLE_RANK") + " at " +
      std::getenv("HEDDLE_STORE"));
  auto context = demand(heddle::Context::join(), "join");
  say("joined " + std::to_string(static_cast<std::uint32_t>(context.rank())));
  Survivor survivor(context);
  survivor.until_death(argv[1]);
  survivor.ring_of_survivors();
  return 0;
}
