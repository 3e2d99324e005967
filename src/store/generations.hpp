// A job that its processes leave and join again: a ledger for each time, a generation. A rank joins the next one when it has left
// the one before in good order and all have joined that. So nobody is more than one generation ahead, and there are two at
// most. Pure, as ledgers are.
#pragma once

#include "store/ledger.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace heddle::store {

class Generations {
 public:
  Generations(std::uint32_t size, std::string job);

  // As those of Ledger. Of ranks they say what holds in the last generation that the rank has joined.
  Result<void> receive(ClientId client, const Frame& frame, Answers& answers);
  void expel(ClientId client, Answers& answers);
  void disconnected(ClientId client);
  void declare(std::uint32_t rank, Presence gone, Answers& answers);
  std::vector<Stall> take_stalls();
  std::optional<Abort> take_abort();
  // The rank of a client that has joined and is not gone.
  [[nodiscard]] std::optional<std::uint32_t> rank_of(ClientId client) const {
    return ledgers_[of(client)].rank_of(client);
  }
  [[nodiscard]] ClientId client_of(std::uint32_t rank) const { return ledgers_[last_of(rank)].client_of(rank); }
  [[nodiscard]] Presence presence(std::uint32_t rank) const { return ledgers_[last_of(rank)].presence(rank); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ended_.size()); }

  // The rank that says hello, if this is a hello of one.
  [[nodiscard]] std::optional<std::uint32_t> who_says_hello(const Frame& frame) const;
  // Whether who says hello would join a generation that rank 0 has not joined yet.
  [[nodiscard]] bool precedes_first(const Frame& hello) const;
  // Whether all have joined the newest.
  [[nodiscard]] bool complete() const { return ledgers_.back().complete(); }

 private:
  // The last that the rank has joined or is gone from; the first, where there is none.
  [[nodiscard]] std::size_t last_of(std::uint32_t rank) const;
  // Whether the rank may join one more.
  [[nodiscard]] bool may_go_on(std::uint32_t rank) const;
  // The one that a rank is to join; the last it has joined, where it may not.
  [[nodiscard]] std::size_t to_join(std::uint32_t rank);
  // The one that a client has joined; the newest, where there is none.
  [[nodiscard]] std::size_t of(ClientId client) const;
  // Who has failed in one generation can join no later one.
  void pass_on_failure(std::size_t generation, std::uint32_t rank, Answers& answers);
  void drop_deserted();

  std::string job_;
  std::deque<Ledger> ledgers_;  // the oldest first
  std::vector<Presence> ended_; // by rank: the launcher's word on its process; expected: none yet
};

} // namespace heddle::store
