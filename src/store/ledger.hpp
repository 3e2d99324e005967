// What the built-in store knows and how it answers: keys, the current fence, who waits for what, who is gone. Each rank joins it
// once; a job that is joined again has another (generations.hpp).
// Pure: frames in, answers out as data; sockets are the server's (server.hpp), so any history can be tested.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/wire.hpp"

namespace heddle::store {

// Where a rank stands. expected -> joined -> left | failed, or expected -> left | failed by word of the launcher; and
// left -> failed, where the launcher says that its process failed after all.
// A rank fails by its own word, by breaking the protocol, or because its process has ended. A connection that is lost is no
// failure: the process may live, and its goodbye may stand unread in the socket.
enum class Presence : std::uint8_t { expected, joined, left, failed };

using ClientId = std::uint64_t;

// What a process reports that waits in vain.
struct Stall {
  std::uint32_t rank = 0;
  std::uint32_t seconds = 0;
  std::string text; // what it waits for, a line each
};

// A process's wish that the whole job end.
struct Abort {
  std::uint32_t rank = 0;
  int status = 0;
};

// One frame to send. Shared, because the answer to an allgather is the same for all.
struct Answer {
  ClientId to;
  std::shared_ptr<const Bytes> frame;
};
using Answers = std::vector<Answer>;

class Ledger {
 public:
  Ledger(std::uint32_t size, std::string job);

  // One request of a client. An error means the client broke the protocol and must be closed (then call disconnected()).
  Result<void> receive(ClientId client, const Frame& frame, Answers& answers);

  // The client broke the protocol: its rank failed.
  void expel(ClientId client, Answers& answers);

  // The client's connection ended. Its rank stays joined until the launcher says what became of its process, but waits for
  // nothing any more.
  void disconnected(ClientId client);

  // The launcher's word on a rank whose process has ended. No effect on one that failed, and `left` none on one that left.
  void declare(std::uint32_t rank, Presence gone, Answers& answers);

  // What processes have reported since the last call.
  std::vector<Stall> take_stalls() { return std::exchange(stalls_, {}); }

  // The first wish that the job end, unless it was taken before.
  std::optional<Abort> take_abort() { return std::exchange(abort_, std::nullopt); }

  // The connection of a rank that has joined; 0 where it has none.
  [[nodiscard]] ClientId client_of(std::uint32_t rank) const { return ranks_[rank].client; }

  // The rank of a client that has joined and is not gone.
  [[nodiscard]] std::optional<std::uint32_t> rank_of(ClientId client) const;
  // Whether every rank has joined, whatever has become of it.
  [[nodiscard]] bool complete() const { return joined_count_ == size(); }
  // Whether every rank is gone.
  [[nodiscard]] bool deserted() const { return gone_count_ == size(); }

  [[nodiscard]] Presence presence(std::uint32_t rank) const { return ranks_[rank].presence; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  struct RankState {
    Presence presence = Presence::expected;
    bool has_joined = false; // whatever has become of it
    ClientId client = 0;
    Bytes blob; // given to the current round of allgather
  };
  // What a client waits for; at most one thing.
  struct Waiting {
    enum class For : std::uint8_t { nothing, key, round };
    For what = For::nothing;
    std::uint32_t sequence = 0;
    std::string key;
    std::int64_t from = kNoPeer;
  };
  struct ClientState {
    std::uint32_t rank = 0;
    bool watches_departures = false;
    Waiting waiting;
  };
  using Clients = std::map<ClientId, ClientState>; // ordered, so that answers come in the same order every time

  Result<void> hello(ClientId client, const Frame& frame, Answers& answers);
  Result<void> put(ClientId client, const Frame& frame, Answers& answers);
  Result<void> get(ClientId client, ClientState& state, const Frame& frame, Answers& answers);
  Result<void> arrive(ClientId client, ClientState& state, const Frame& frame, Answers& answers);
  Result<void> goodbye(ClientId client, const Frame& frame, Answers& answers);
  Result<void> stalled(const ClientState& state, const Frame& frame);
  Result<void> abort(const ClientState& state, const Frame& frame);
  void withdraw(ClientState& state);
  void watch(ClientId client, ClientState& state, Answers& answers);
  void finish_round(Answers& answers);
  [[nodiscard]] Bytes gathered_frame(std::uint32_t sequence) const;
  void gone(std::uint32_t rank, Presence how, Answers& answers);
  void refuse_impossible(Answers& answers);
  // Why this wait can never end well; ok where it still can.
  [[nodiscard]] Error impossible(const ClientState& state) const;
  [[nodiscard]] Error gone_error(std::uint32_t rank, const std::string& meanwhile) const;

  std::string job_;
  std::vector<RankState> ranks_;
  Clients clients_;
  std::unordered_map<std::string, Bytes> values_;
  std::vector<Stall> stalls_;
  std::optional<Abort> abort_;
  std::size_t value_bytes_ = 0;
  std::int64_t first_gone_ = kNoPeer;
  std::uint32_t joined_count_ = 0;
  std::uint32_t gone_count_ = 0;
  std::uint32_t unexpected_count_ = 0;
  Kind round_kind_ = Kind::fence;
};

} // namespace heddle::store
