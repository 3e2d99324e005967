// What the store says of peers, passed on: who has failed, who has left. Departures in good order are reported only to those that ask,
// and this asks when something has waited so long that it may wait for one of them.
#pragma once

#include "base/log.hpp"
#include "progress/pending_work.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <vector>

namespace heddle::progress {

class PeerNews {
 public:
  // All outlive it.
  PeerNews(store::Store& store, PendingWork& work, const base::Log& log) : store_(store), work_(work), log_(log) {}

  // Asks where there is reason to, and takes what has come.
  void look(std::uint64_t now_ns);
  // Takes what has come. Without a store any more, every other process counts as failed.
  void take();
  // Asks for departures to be reported; again where the store was too slow to take it.
  void watch_departures();

  // Nothing comes any more.
  [[nodiscard]] bool lost() const { return lost_; }
  // Readable when something has come; -1: never.
  [[nodiscard]] int descriptor() const { return store_.descriptor(); }

 private:
  void lose(const Error& error);
  void tell_later(std::uint32_t rank);

  store::Store& store_;
  PendingWork& work_;
  const base::Log& log_;
  std::uint64_t last_count_ns_ = 0;      // when the work was last counted, and
  std::uint64_t last_count_ = 0;         // how far it was
  std::uint64_t awaited_ns_ = 0;         // since when news of an absent peer are awaited; 0: none are
  std::vector<std::uint32_t> departing_; // ranks whose departure is to be told again
  bool watches_departures_ = false;
  bool lost_ = false;
};

} // namespace heddle::progress
