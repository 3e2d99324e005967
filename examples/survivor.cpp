// A job that goes on when a process of it dies: heddle run -n 4 --survive survivor
// Rank 0 hands out numbers to be squared. The last rank dies with the first one that it gets in hand; the event that tells of it gives the
// number to another, and the sum is right all the same.
#include <heddle/heddle.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace {

using heddle::ErrorCode;
using heddle::Rank;
using heddle::Tag;

constexpr Tag kTask{1};
constexpr Tag kResult{2};
constexpr std::uint64_t kNoMore = 0;
constexpr std::uint64_t kNumbers = 100;

heddle::ConstLayout layout_of(const std::uint64_t& number) {
  return {&number, sizeof number};
}

class Farm {
 public:
  explicit Farm(heddle::Context& job) : job_(job) {
    for (std::uint64_t number = kNumbers; number > 0; --number) to_do_.push_back(number);
  }

  // False: no worker is left, or nothing happens any more.
  bool run() {
    for (std::uint32_t rank = 1; rank < job_.size(); ++rank) hand_out(Rank{rank});
    listen();
    std::array<heddle::Event, 16> events;
    while (results_ < kNumbers) {
      const std::size_t count = job_.wait_events(events, std::chrono::seconds(10));
      if (count == 0 || in_hand_.empty()) return false;
      for (const heddle::Event& event : std::span(events).first(count)) handle(event);
    }
    for (std::uint32_t rank = 1; rank < job_.size(); ++rank)
      static_cast<void>(send_word(Rank{rank}, kNoMore)); // refused by the dead
    return true;
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  void handle(const heddle::Event& event) {
    using Kind = heddle::Event::Kind;
    const Rank peer = event.completion.peer;
    if (event.kind == Kind::received) {
      sum_ += result_;
      ++results_;
      in_hand_.erase(peer);
      hand_out(peer);
      listen();
    }
    // Died, gone home early, or out of reach: for this program it comes to the same.
    if (event.kind == Kind::peer_failed || event.kind == Kind::peer_left || event.kind == Kind::connection_lost) {
      std::cout << "rank " << static_cast<std::uint32_t>(peer) << " is lost: " << to_string(event.completion.code)
                << std::endl;
      if (const auto held = in_hand_.find(peer); held != in_hand_.end()) {
        to_do_.push_back(held->second);
        in_hand_.erase(held);
      }
      for (const Rank idle : std::exchange(idle_, {})) hand_out(idle);
    }
  }

  void hand_out(Rank to) {
    if (to_do_.empty()) {
      idle_.push_back(to); // until somebody's work is to be done again
      return;
    }
    // A send to one that has died meanwhile is refused; its event is on the way.
    if (!send_word(to, to_do_.back())) return;
    in_hand_[to] = to_do_.back();
    to_do_.pop_back();
  }

  bool send_word(Rank to, std::uint64_t word) {
    std::uint64_t& kept = words_[to] = word; // stays as it is until the worker answers
    return job_.send(to, kTask, layout_of(kept), heddle::SendMode::standard, heddle::Notify::event(0)).has_value();
  }
  void listen() { static_cast<void>(job_.receive({.tag = kResult}, result_, heddle::Notify::event(0))); }

  heddle::Context& job_;
  std::vector<std::uint64_t> to_do_;
  std::map<Rank, std::uint64_t> in_hand_;
  std::map<Rank, std::uint64_t> words_;
  std::vector<Rank> idle_;
  std::uint64_t result_ = 0;
  std::uint64_t results_ = 0;
  std::uint64_t sum_ = 0;
};

int work(heddle::Context& job) {
  for (;;) {
    std::uint64_t number = 0;
    const auto task = job.receive({.source = Rank{0}, .tag = kTask}, number);
    // Without rank 0 there is nothing to survive for.
    if (!task || job.wait(*task).code != ErrorCode::ok) return 1;
    if (number == kNoMore) return 0;
    if (static_cast<std::uint32_t>(job.rank()) == job.size() - 1) std::raise(SIGKILL);
    const std::uint64_t square = number * number;
    const auto sent = job.send(Rank{0}, kResult, layout_of(square));
    if (!sent || job.wait(*sent).code != ErrorCode::ok) return 1;
  }
}

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) {
    std::cerr << job.error().message() << '\n';
    return 1;
  }
  if (job->rank() != Rank{0}) return work(*job);
  Farm farm(*job);
  if (!farm.run()) return 1;
  std::cout << "the sum of squares is " << farm.sum() << '\n';
  return 0;
}
