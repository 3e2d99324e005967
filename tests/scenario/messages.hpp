// A process's tagged and unsolicited messages in a scenario. What every process sends stands there, so that each knows what
// it must get; into which receives it comes is found out, and judged at the end.
#pragma once

#include "tests/scenario/role.hpp"
#include "tests/traffic/judge.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace heddle::tests {

class Messages {
 public:
  explicit Messages(Role& role);

  void act(const Action& action);
  // The end of an operation that asked for an event, by its cookie; or an unsolicited message.
  void ended(const Event& event);
  void arrived(const Event& event);
  // Tests what is under way.
  void collect();

  // Its own sends have ended, what it reserved is received, and receives from the dead have ended.
  [[nodiscard]] bool own_ended() const;
  // Messages that must still come. What a process that dies has sent need not.
  [[nodiscard]] std::uint64_t missing() const;
  // Towards the end: the rest comes in through receives for anything, whatever the others leave.
  void ask_for_missing();
  // At the end: receives the rest of what the dead have sent, and takes back what nothing has matched; receives from those
  // that leave end by themselves. True: nothing is under way any more.
  bool wind_up();
  // A message may still come that nobody waits for.
  [[nodiscard]] bool more_may_come() const {
    return std::ranges::any_of(incoming_, [](const Sent& sent) { return sent.may_fail && !sent.arrived; });
  }
  // Every message once, intact, in order.
  void check();

 private:
  // All on the channel that this process is sent to.
  [[nodiscard]] Match match_of(const Action& action) const;
  [[nodiscard]] Match anything() const;
  struct Reserved {
    Message message;
    Match match;
    std::uint64_t order;
  };

  void send(const Action& action);
  void receive(const Match& match, std::uint64_t room, const Action& how);
  void probe(const Action& action);
  void reserve(const Action& action);
  void take_reserved(const Action& action);
  void cancel(const Action& action);
  void release(std::uint64_t choice);
  void take_back(Operation& operation, const char* how);
  void end(Operation& operation, const Completion& completion);
  void add(Operation operation);
  [[nodiscard]] Notify notify_for(const Action& action) const {
    return action.event != 0 ? Notify::event(operations_.size()) : Notify::request();
  }
  void end_send(const Operation& operation);
  void end_receive(const Operation& operation);
  // Whether it is sure to be announced before it is moved, or sure to travel in one record.
  [[nodiscard]] bool announced(const Sent& sent) const {
    return sent.bytes > *role_.scenario.setup.options.eager_limit;
  }
  [[nodiscard]] bool is_small(const Sent& sent) const;
  [[nodiscard]] bool waits_for_end(const Operation& operation) const;
  [[nodiscard]] bool certainly_unmatched(const Operation& operation) const;
  void find_the_sure();
  [[nodiscard]] std::string name_of(const Operation& operation) const;

  Role& role_;
  std::vector<Sent> outgoing_; // in the order of its actions
  std::vector<Sent> incoming_; // of each sender in its order
  std::vector<std::uint64_t> expected_;
  std::vector<std::uint64_t> got_;
  std::vector<std::uint64_t> last_small_; // by sender: number + 1 of the last small unsolicited message
  std::deque<Operation> operations_;      // stays in place: layouts point into it
  std::vector<std::size_t> under_way_;
  std::vector<Reserved> reserved_;
  std::vector<Sent> matched_; // source and tag of what receives have got and probes have reserved
  std::vector<UnsolicitedMessage> held_;
  bool releases_all_ = false;
  std::size_t next_ = 0; // of outgoing_
  std::uint64_t orders_ = 0;
  std::uint64_t catch_alls_ = 0;
  std::uint64_t sends_under_way_ = 0;
  std::uint64_t largest_ = 0;   // of incoming_
  std::uint64_t collected_ = 0; // times
};

} // namespace heddle::tests
