// Barriers by dissemination: in round k every process tells the one 2^k further on, and waits for the one 2^k before.
// After ceil(log2 n) rounds each knows of all. Non-blocking: a barrier is a plan that progress carries out.
// Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988.
#pragma once

#include "collective/tags.hpp"
#include "engine/engine.hpp"
#include "engine/swallower.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::collective {

class Barriers {
 public:
  explicit Barriers(engine::Engine& engine);
  ~Barriers() { engine_.handlers().remove(this); }
  Barriers(const Barriers&) = delete;
  Barriers& operator=(const Barriers&) = delete;

  // Starts the next barrier of this process. All processes start theirs in the same order.
  Request start(Notify notify);
  // Takes every step that is ready. Returns how many steps were made.
  std::size_t progress() { return running_.empty() && !failed_ ? 0 : advance_all(); }

 private:
  using Part = unsigned;
  static constexpr Part kSend = 1;
  static constexpr Part kReceive = 2;
  struct Plan {
    Request request;
    std::uint64_t number = 0;
    std::uint32_t round = 0;
    Part to_begin = kSend | kReceive; // of the round
    ErrorCode code{};                 // the gravest that this process knows of
    bool over = false;                // its request has ended; only its messages have not
    Request send;
    Request receive;
    ErrorCode news_out{}; // `code`, told to the next
    ErrorCode news_in{};
  };

  // Once a process has died barriers under way, and all to come, end with peer_failed. They end without their messages: another process
  // that has seen its last barrier fail may never start the one that this process waits in. What others still send of theirs is
  // swallowed.
  std::size_t end_all();
  std::size_t advance_all();
  bool advance(Plan& plan);
  void begin_round(Plan& plan);
  void finish(Plan& plan, ErrorCode code);
  bool wind_up(Plan& plan);

  engine::Engine& engine_;
  std::vector<std::unique_ptr<Plan>> running_;
  std::vector<std::unique_ptr<Plan>> spare_;
  std::uint64_t number_ = 0;
  bool failed_ = false;                                                                      // a process has died
  engine::Swallower swallower_{engine_, engine::Channel::collective, Tag{0}, kExchangeMark}; // once failed
};

} // namespace heddle::collective
