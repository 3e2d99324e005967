// Calls: how two processes that have no queue pairs with each other agree on some. Small unreliable datagrams; who needs an answer calls
// again until it comes, and whoever hears a call twice answers twice. See docs/protocols/verbs.md.
#pragma once

#include "auth/secret.hpp"
#include "translators/verbs/memory.hpp"

#include <optional>

namespace heddle::translators::verbs {

enum class Subject : std::uint8_t {
  open = 1,  // the caller's queue pair `queue_pair` wants one of the other side's to write through
  opened,    // there it is
  close,     // the caller has given its queue pair of that lane up; the other side's can go
  closed,    // it has gone
  make_room, // the one called is to give its queue pair of that lane up when nothing is under way on it
  broken,    // the way between the two broke: nothing that was under way is known to have arrived
  mended,    // the same is known here now
  goodbye,   // the caller leaves in good order
  another,   // the process that was called is not here: another one has its number now
  given_up,  // contact with the caller has ended here for good: it was taken for dead
};

struct Call {
  std::uint32_t mark = kMark;
  Subject subject{};
  std::uint8_t mtu = 0;      // of the port of `queue_pair`
  std::uint8_t reads = 0;    // gets and atomics that the caller's adapter serves at once
  std::uint8_t back = 0;     // of `opened`: the path, to the one called, of what comes back
  std::uint32_t lane = 0;    // Lane::number of the one whose commands it carries
  std::uint32_t attempt = 0; // of that lane; the later is the higher
  std::uint32_t queue_pair = 0;
  std::uint32_t sequence = 0; // first packet's number
  Place from{};
  std::uint64_t to = 0;     // the process called
  std::uint32_t number = 0; // in a job: the caller's rank
  std::uint16_t lid = 0;    // on InfiniBand: of the port of `queue_pair`
  std::uint8_t lmc = 0;
  std::uint8_t reserved_too = 0;
  Gid gid{};                    // on Ethernet: of `queue_pair`'s end
  std::array<char, 32> proof{}; // that the caller knows the job's secret

  static constexpr std::uint32_t kMark = 0x4864'0003; // changes with the layout
};
static_assert(sizeof(Call) == 128 && std::is_trivially_copyable_v<Call>);

// Where the queue pair of a call is.
[[nodiscard]] Place end_of(const Call& call);

// The queue pair that hears calls and makes them. What arrives is on the completion queue given, with kHeard in its number.
class Door {
 public:
  static constexpr std::uint64_t kHeard = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t kCalled = std::uint64_t{1} << 61U;

  static Result<std::unique_ptr<Door>> open(const Device& device, Memory& memory, ibv_cq& queue,
                                            const std::optional<auth::Secret>& secret);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  [[nodiscard]] std::uint32_t number() const { return pair_->qp_num; }
  [[nodiscard]] bool hears_by(const ibv_qp* pair) const { return pair == pair_; }
  // To that place. Whoever needs an answer calls again, after `later` and `no_way`, too: the adapter knows no way there now.
  enum class Called : std::uint8_t { yes, later, no_way };
  Called call(const Place& there, Call call);
  // Of a completion with kHeard: the call, where it is one of somebody who knows the secret. The room is free again after.
  std::optional<Call> hear(const ibv_wc& completion);
  void called() { --calling_; }
  [[nodiscard]] bool quiet() const { return calling_ == 0; }

 private:
  Door(const Device& device, const auth::Secret& secret) : device_(device), secret_(secret) {}
  void listen(std::uint64_t room);
  [[nodiscard]] std::array<char, 32> proof_of(Call call) const;
  ibv_ah* way_to(const Place& place);

  static constexpr std::uint32_t kRooms = 256;
  static constexpr std::uint32_t kMostCalling = 128;
  static constexpr std::size_t kRoomBytes = 192; // a global route header of 40 bytes comes first

  const Device& device_;
  auth::Secret secret_;
  ibv_qp* pair_ = nullptr;
  Memory::Pool::Piece rooms_; // of calls that come, and behind them of those that go
  std::uint32_t inline_bytes_ = 0;
  std::uint32_t calls_ = 0; // made so far
  std::uint32_t calling_ = 0;
  std::map<std::pair<Gid, std::uint16_t>, ibv_ah*> ways_;
};

} // namespace heddle::translators::verbs
