// One process of a scenario: does its actions, then sees to it that everything ends, and that all is as it must be.
#pragma once

#include "tests/scenario/meetings.hpp"
#include "tests/scenario/memory.hpp"
#include "tests/scenario/messages.hpp"
#include "tests/scenario/role.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace heddle::tests {

class Member {
 public:
  Member(Context& context, const Scenario& scenario, Witness& witness, Journal* journal);

  // What is to be done until the next step.
  struct Next {
    enum class Kind : std::uint8_t { go_on, wait, pause, compute, done } kind{};
    std::uint64_t ns = 0; // of a pause or computation
  };
  // A little more of it. Throws where something is wrong. wait: nothing can be done until something has happened.
  Next step();
  // What it still waits for, for people.
  [[nodiscard]] std::string waits_for() const;

 private:
  // In this order.
  enum class Phase : std::uint8_t {
    acting,     // its actions
    completing, // what it has started ends, what it must get comes
    accounting, // everybody has said what it has done to others' memory
    closing,    // everything is given back
  };

  Next act();
  Next go_on();
  void look();
  void take(const Event& event);
  void told(std::uint32_t rank, bool died);
  [[nodiscard]] bool completed();
  [[nodiscard]] bool accounted();
  [[nodiscard]] bool closed();
  void send_accounts();
  void check_figures() const;
  [[nodiscard]] bool accounts_are_sent() const;

  Role role_;
  Messages messages_;
  Memory memory_;
  Meetings meetings_;
  Phase phase_ = Phase::acting;
  std::size_t next_ = 0;              // of its actions
  std::vector<Account> accounts_out_; // sent from here
  std::vector<Request> accounts_under_way_;
  bool areas_closed_ = false;
};

} // namespace heddle::tests
