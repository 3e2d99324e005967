// Active messages: each carries, in its label, which function the receiver runs on its bytes. No receive is posted; an event
// loop takes what arrives. Rank 0 asks everybody else for the sum of some numbers. heddle run -n 3 active_messages
#include <heddle/heddle.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>

namespace {

enum class Action : std::uint64_t { add_up, answer };

class Node {
 public:
  explicit Node(heddle::Context& job) : job_(job) {}

  void ask_everybody() {
    for (std::uint32_t rank = 1; rank < job_.size(); ++rank)
      send(heddle::Rank{rank}, Action::add_up, {rank, 10 * rank, 100 * rank});
    to_come_ = job_.size() - 1;
  }

  // Runs what arrives until this node's part is done: all answers are here, or the one question is answered.
  bool serve() {
    std::array<heddle::Event, 16> events;
    while (to_come_ > 0 || leaving_ > 0) {
      const std::size_t count = job_.wait_events(events, std::chrono::seconds(10));
      if (count == 0) return false;
      for (const heddle::Event& event : std::span(events).first(count))
        if (!handle(event)) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  void send(heddle::Rank to, Action action, std::vector<std::uint64_t> numbers) {
    // The memory must stay as it is until the message has left: it is kept until the event says so.
    outgoing_.push_back(std::move(numbers));
    const auto label = static_cast<heddle::Tag>(action);
    if (job_.send_unsolicited(to, label, outgoing_.back(), heddle::Notify::event(0))) ++leaving_;
  }

  bool handle(const heddle::Event& event) {
    using Kind = heddle::Event::Kind;
    if (event.kind == Kind::unsolicited_arrived) {
      std::vector<std::uint64_t> numbers(event.unsolicited.bytes / sizeof(std::uint64_t));
      std::memcpy(numbers.data(), event.unsolicited.data, numbers.size() * sizeof(std::uint64_t));
      run(static_cast<Action>(event.completion.tag), event.completion.peer, numbers);
      job_.release(event.unsolicited);
      return true;
    }
    if (event.kind == Kind::unsolicited_left) {
      --leaving_;
      return event.completion.code == heddle::ErrorCode::ok;
    }
    return event.kind != Kind::peer_failed;
  }

  void run(Action action, heddle::Rank from, std::span<const std::uint64_t> numbers) {
    std::uint64_t total = 0;
    for (const std::uint64_t number : numbers) total += number;
    if (action == Action::add_up)
      send(from, Action::answer, {total});
    else
      sum_ += total;
    --to_come_;
  }

  heddle::Context& job_;
  std::vector<std::vector<std::uint64_t>> outgoing_;
  std::uint64_t to_come_ = 1;
  std::uint64_t leaving_ = 0;
  std::uint64_t sum_ = 0;
};

} // namespace

int main() {
  auto job = heddle::Context::join();
  if (!job) {
    std::cerr << job.error().message() << '\n';
    return 1;
  }
  const bool asks = job->rank() == heddle::Rank{0};
  Node node(*job);
  if (asks) node.ask_everybody();
  if (!node.serve() || !job->barrier()) return 1;
  if (asks) std::cout << "the sum is " << node.sum() << '\n';
  return 0;
}
