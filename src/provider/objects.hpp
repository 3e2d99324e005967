// What the objects of libfabric are here: each begins with libfabric's own struct, so that a pointer to one is a pointer to the other.
// A domain has one lock; it is taken by every call where the program asked for FI_THREAD_SAFE, and by none where it promised to take turns.
#pragma once

#include "provider/fifo.hpp"
#include "provider/libfabric.hpp"

#include <heddle/heddle.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle::provider {

struct Domain;
struct Endpoint;

class Lock {
 public:
  explicit Lock(Domain& domain);
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::mutex* mutex_;
};

struct Fabric {
  fid_fabric fid{};
};

struct Region {
  fid_mr fid{};
  Domain* domain = nullptr;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t access = 0;
};

struct Domain {
  fid_domain fid{};
  std::mutex mutex;
  bool locks = true;          // the program does not take turns by itself
  bool basic = false;         // FI_MR_BASIC: addresses are the target's own, and keys are given out here
  std::uint64_t last_key = 0; // of those
  std::vector<Endpoint*> endpoints;
  std::map<std::uint64_t, Region*> regions; // by key
  std::uint32_t users = 0;                  // objects opened from it
};

inline Lock::Lock(Domain& domain) : mutex_(domain.locks ? &domain.mutex : nullptr) {
  if (mutex_ != nullptr) mutex_->lock();
}
inline Lock::~Lock() {
  if (mutex_ != nullptr) mutex_->unlock();
}

// fi_addr_t is the place in the list, for both types of address vectors.
struct AddressVector {
  fid_av fid{};
  Domain* domain = nullptr;
  bool tells_later = false; // opened with FI_EVENT: the event queue is told of insertions
  fid_eq* queue = nullptr;
  std::vector<std::optional<Name>> names;
  std::vector<fi_addr_t> free; // places that were removed
  std::uint32_t users = 0;
};

// What a completion queue or counter sleeps on: the descriptors of its endpoints, and one for what this process itself adds.
class Sleep {
 public:
  ~Sleep();
  // 0 or a negative error.
  int open();
  [[nodiscard]] bool exists() const { return all_ >= 0; }
  [[nodiscard]] int descriptor() const { return all_; }
  int watch(int descriptor) const;
  void forget(int descriptor) const;
  void wake();
  void clear();
  // Somebody was told that the descriptor may be slept on. Until then there is nobody to wake, and no system call is made.
  void arm() { armed_ = true; }
  void wake_whoever_sleeps() {
    if (armed_) [[unlikely]]
      wake();
  }

 private:
  int all_ = -1; // an epoll
  int own_ = -1; // an eventfd in it
  bool armed_ = false;
  bool woken_ = false; // the eventfd is readable
};

struct CompletionQueue {
  struct Entry {
    fi_cq_tagged_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
  };
  struct Failure {
    fi_cq_err_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    std::size_t after = 0; // so many entries, behind the failure before it
  };

  fid_cq fid{};
  Domain* domain = nullptr;
  fi_cq_format format = FI_CQ_FORMAT_CONTEXT;
  Fifo<Entry> entries;
  std::deque<Failure> failures;     // each is read in its turn
  std::size_t before_failures = 0;  // entries: the sum of `after`
  std::vector<Endpoint*> endpoints; // each once
  Sleep sleep;
  bool signalled = false;
  bool drained = false;        // the last call made progress, and took all that there was
  std::uint32_t vain = 0;      // polls
  std::uint32_t poll_sets = 0; // that it is in

  void add(const Entry& entry) {
    entries.push_back() = entry;
    sleep.wake_whoever_sleeps();
  }
  void add(const Failure& failure) {
    failures.push_back(failure);
    failures.back().after = entries.size() - before_failures;
    before_failures = entries.size();
    sleep.wake_whoever_sleeps();
  }
};

struct Counter {
  // A thread in fi_cntr_wait: until the value is reached, or an error is counted meanwhile, since what is waited for may then never come.
  struct Waiter {
    std::uint64_t threshold = 0;
    std::uint64_t errors = 0;
  };

  fid_cntr fid{};
  Domain* domain = nullptr;
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
  std::uint64_t seen = 0;        // the value that was read last
  std::uint64_t seen_errors = 0; // the same
  std::uint32_t vain = 0;        // polls
  std::uint32_t poll_sets = 0;   // that it is in
  std::vector<Endpoint*> endpoints;
  std::list<Waiter> waiters;
  Sleep sleep;

  [[nodiscard]] bool is_over(const Waiter& waiter) const {
    return value >= waiter.threshold || errors != waiter.errors;
  }
  void count(bool ok, std::uint64_t by = 1) {
    (ok ? value : errors) += by;
    sleep.wake_whoever_sleeps();
  }
};

// As the bits of fi_ep_bind tell them apart.
enum class Counted : std::uint8_t { send, receive, read, write, remote_read, remote_write };
inline constexpr std::size_t kCounted = 6;

// All endpoints that a queue or counter reports of make progress.
void make_progress(const std::vector<Endpoint*>& endpoints);
// Whether all may sleep: whatever comes from now on ends a sleep on their descriptors, which then counts as begun. Where not, others that sleep on
// them are woken, since their endpoints no longer announce what comes.
bool go_to_sleep(const std::vector<Endpoint*>& endpoints, Sleep& sleep);
// Called where a poll came up empty. Whoever polls comes back only after looking at other things, too: that is pause enough for a while.
void relax(const std::vector<Endpoint*>& endpoints, std::uint32_t& vain);

} // namespace heddle::provider
