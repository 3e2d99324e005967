// A process's one-sided operations in a scenario: its areas, and what it does to those of others. In the memory of each
// process every other has a part of its own, and keeps a copy of what it must look like; at the end it says so (Account), and the
// owner compares. A lock protects two words that must always be equal.
#pragma once

#include "tests/scenario/role.hpp"

#include <heddle/onesided.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace heddle::tests {

// What one process has done to another's memory: sent to it at the end.
struct Account {
  std::uint64_t sure = 1; // 0: something failed, so that the rest is not known
  std::uint64_t added = 0;
  std::uint64_t own_adds = 0;
  std::uint64_t own_word = 0; // what its atomics of all kinds have left in a word of its own
  std::uint64_t bit = 0;      // of its own in a word that all change: whether it is set
  std::uint64_t locked = 0;   // times
  std::uint64_t signals = 0;  // pushes with a signal
  std::uint64_t content = 0;  // hash of its part
};

class Memory {
 public:
  explicit Memory(Role& role);

  // Whether one with these actions uses that peer's memory at all: then it gives an account, and the peer waits for that.
  static bool concerns(const std::vector<Action>& actions, std::uint32_t peer);

  void act(const Action& action);
  // A push with a signal has landed.
  void signalled(const Event& event);
  // Whether anything has come of what is under way; goes on with the lock.
  void collect();
  [[nodiscard]] bool own_ended() const { return transfers_.empty() && lock_.step == LockStep::idle; }

  [[nodiscard]] Account account_for(std::uint32_t peer) const;
  void take_account(std::uint32_t peer, const Account& account) { accounts_[peer] = account; }
  [[nodiscard]] bool has_account(std::uint32_t peer) const { return accounts_[peer].sure != kNone; }
  // The signals that accounts tell of have come.
  [[nodiscard]] bool signals_complete() const;
  // What the accounts say is so; no torn words.
  void check() const;
  void close_all();

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Transfer {
    Tracker tracker;
    Action action;
    std::vector<std::uint32_t> peers;
    std::vector<std::byte> data;
    std::vector<std::byte> twin;
    std::vector<std::uint64_t> bits;
    Atomic atomic;
    std::uint64_t least = 0; // of a shared sum: what it held at least
  };
  enum class LockStep : std::uint8_t { idle, locking, reading, writing_first, writing_second, unlocking };
  struct LockUse {
    LockStep step = LockStep::idle;
    std::uint32_t home = 0;
    bool repairs = false;    // a process died holding it
    bool tries = false;      // without waiting
    bool alone = false;      // nobody else used it when this began
    std::uint64_t begun = 0; // uses of it until then, this one included
    std::uint64_t words[2] = {};
    Tracker tracker;
  };

  void push(const Action& action);
  void pull(const Action& action);
  void mcast(const Action& action);
  void atomic(const Action& action);
  void lock(const Action& action);
  void close();
  void step_lock();
  void busy();
  void acquired(bool holder_died);
  void expect_signal(std::uint32_t peer, Witness::Signal signal);
  Witness::Lock& book() const { return role_.witness.locks[lock_.home]; }
  void release_lock();
  void finish_lock(const char* how);
  void end(Transfer& transfer);
  void end_pull(const Transfer& transfer);
  void end_atomic(const Transfer& transfer);
  [[nodiscard]] bool busy_with(std::uint32_t peer) const;
  Transfer& begin(const Action& action, std::vector<std::uint32_t> peers);
  [[nodiscard]] std::uint64_t part_of(std::uint32_t rank) const;
  std::vector<std::byte>& shadow(std::uint32_t peer);
  [[nodiscard]] OneSided& calls() const { return role_.context.one_sided(); }

  Role& role_;
  std::uint64_t room_ = 0; // bytes of each of the three regions of a part
  std::span<std::byte> shared_;
  std::vector<std::byte> readable_; // exposed
  std::vector<std::byte> closing_;  // exposed, until it is closed
  bool closed_ = false;
  std::list<Transfer> transfers_;
  std::vector<Account> own_; // by target
  std::vector<std::vector<std::byte>> shadows_;
  std::vector<std::uint64_t> unique_used_; // by target
  std::uint64_t mcast_used_ = 0;
  std::vector<Account> accounts_; // by initiator
  std::vector<std::uint64_t> signals_;
  std::vector<std::uint64_t> atomic_under_way_; // by target: a bit for each of its own words
  LockUse lock_;
};

} // namespace heddle::tests
