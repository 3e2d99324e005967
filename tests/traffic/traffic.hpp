// One process's part in random traffic. What every process sends follows from the seed, so that each knows what it must
// get; when, and into which receives, is each one's own random choice.
#pragma once

#include "tests/traffic/dice.hpp"
#include "tests/traffic/judge.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tests {

struct TrafficPlan {
  std::uint64_t seed = 1;
  std::uint64_t messages = 100; // sent by each process
  std::uint64_t largest = 1 << 20;
  bool kill = false; // a process will die: survivors end when they have seen that, the victim never
  std::function<void(int dead)> told_of_death = {};
};

class Traffic {
 public:
  Traffic(Context& context, const TrafficPlan& plan);

  // A little more of it; false when everything is sent, received, cleaned up and found right. Throws where something is
  // wrong. On real processes it also waits, for a little while; simulated ones let time pass between steps.
  bool step();
  // Nothing is left over in the library. Without a death only after a barrier: its messages may come early.
  void check_figures() const;
  [[nodiscard]] bool all_sent() const { return next_ == outgoing_.size(); }
  // The rank that failed under way, or -1.
  [[nodiscard]] int dead() const { return dead_; }

 private:
  struct Reserved {
    Message message;
    Match match;
    std::uint64_t order;
  };

  void act();
  void send_next();
  void post_random();
  void post(const Match& match, std::uint64_t room);
  void probe();
  void matched_probe();
  void receive_reserved();
  void cancel_one();
  void wait_for_something();
  void collect();
  void take(const Event& event);
  void arrived(const Event& event);
  void release_one();
  void end(Operation& operation, const Completion& completion);

  [[nodiscard]] std::uint64_t missing() const;
  [[nodiscard]] bool finished() const;
  bool step_of_clean_up();
  void ask_for_missing();
  void abandon_the_rest();
  [[nodiscard]] std::uint64_t figure(std::string_view name) const;
  void check();

  std::uint64_t random_bytes() { return dice_.bytes(plan_.kill ? 8 : 0, plan_.largest); }
  [[nodiscard]] Notify notify_for(bool by_event) const {
    return by_event ? Notify::event(operations_.size()) : Notify::request();
  }
  Operation& add(Operation operation);
  void demand(bool condition, const std::string& what) const;

  Context& context_;
  TrafficPlan plan_;
  Dice dice_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::vector<Sent> outgoing_;          // in the order to send
  std::vector<Sent> incoming_;          // of each sender in its order
  std::vector<std::uint64_t> expected_; // by sender
  std::vector<std::uint64_t> got_;      // by sender
  std::deque<Operation> operations_;    // stays in place: layouts point into it
  std::vector<std::size_t> under_way_;  // those of operations_ that have not ended
  std::vector<Reserved> reserved_;
  std::vector<UnsolicitedMessage> held_;
  std::size_t next_ = 0; // of outgoing_
  std::uint64_t orders_ = 0;
  std::uint64_t catch_alls_ = 0; // receives for anything under way
  std::uint64_t sends_under_way_ = 0;
  int dead_ = -1;
  bool cleaning_ = false;
};

} // namespace heddle::tests
