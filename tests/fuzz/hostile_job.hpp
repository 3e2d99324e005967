// One real engine among peers that are the fuzzer's. Each byte of input is a move: of the peers, who write rings, slots and cells
// as they like and say how commands end; or of the program, which sends, receives and reaches into areas. In the end everybody
// but this process dies, and every operation with them must have ended.
#pragma once

#include "base/flight_recorder.hpp"
#include "base/fuzz_input.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "onesided/one_sided_engine.hpp"
#include "tests/fuzz/hostile_network.hpp"
#include "translators/loopback/loopback.hpp"

#include <heddle/onesided.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace heddle::fuzz {

enum class Move : std::uint8_t {
  record,      // a peer's record into its ring, well formed but for its contents
  ring_bytes,  // anything into its ring
  shared_slot, // a slot of the shared ring
  request,     // into the common slot
  slot,        // a command slot
  cell,        // a claim cell
  consumed,    // how far the peer has read
  complete,    // a command under way ends
  notice,      // the network announces a write or a read
  back_pressure,
  send,
  send_unsolicited,
  receive,
  probe,
  cancel,
  collect, // looks for ends, releases unsolicited messages
  own_area,
  one_sided,
  lock,
  die, // a peer does, or leaves
  progress,
};

class HostileJob {
 public:
  static constexpr std::uint32_t kSize = 4;
  static constexpr std::uint32_t kSelf = 1; // has peers below and above

  // Takes the shape of the network from the input.
  explicit HostileJob(Input& input);
  ~HostileJob();
  HostileJob(const HostileJob&) = delete;
  HostileJob& operator=(const HostileJob&) = delete;

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] HostileNetwork& network() { return *network_; }
  // What else makes progress after each move.
  void also(std::function<void()> work) { also_ = std::move(work); }

  // Makes a connection with the peer in the proper way, if it is not connected yet.
  void connect(std::uint32_t peer);
  // Moves of these kinds, until the input ends; `more` is asked for moves of the caller's, numbered from 0.
  void play(std::span<const Move> moves, std::uint32_t others = 0, const std::function<void(std::uint32_t)>& more = {});
  // The others die, and what was begun ends.
  void finish();

  // One record of a peer, if it has an exclusive ring here.
  void say(std::uint32_t from, engine::RecordKind kind, engine::Channel channel, std::uint64_t tag,
           std::span<const std::byte> content);
  // A word of the peers' into memory that the engine has given them; `number` counts what it has allocated.
  void scribble(std::uint32_t number, std::uint64_t at, std::uint64_t value);

  void progress(int times = 2);
  // A number that means something to the engine, or nearly.
  std::uint64_t word();
  std::uint32_t peer() { return (kSelf + 1 + input_.below(kSize - 1)) % kSize; }

 private:
  struct Busy { // memory of the program that the engine may use
    std::vector<std::byte> memory;
    std::uint64_t request = 0; // 0: an event will tell
  };
  struct OneSided {
    Tracker tracker;
    std::vector<std::byte> memory;
    std::vector<std::uint64_t> bits;
    std::uint32_t target = 0;
  };

  void make(Move move);
  void lay_record();
  void lay_bytes();
  void lay_shared();
  void write_request();
  void write_slot();
  void write_notice();
  void send(bool unsolicited);
  void receive();
  void probe();
  void own_area();
  void one_sided();
  void lock();
  void collect();
  std::vector<std::byte> content(engine::RecordKind kind);
  std::vector<std::byte> tame_content(engine::RecordKind kind);
  std::uint64_t field(char what);
  [[nodiscard]] engine::BootstrapArea& area() { return *area_; }
  std::pair<Busy*, std::uint64_t> busy(std::size_t bytes);

  Input& input_;
  base::FlightRecorder recorder_{16};
  std::map<std::uint64_t, Busy> busy_; // by cookie
  std::list<OneSided> one_sided_;
  std::vector<std::vector<std::byte>> exposed_; // outlives the engine
  translators::LoopbackFabric self_fabric_{kSize};
  translators::Loopback self_{self_fabric_, ir::Peer{kSelf}}; // what it sends to itself is in good hands
  std::unique_ptr<engine::ScheduleQueue> self_queue_;
  std::unique_ptr<HostileNetwork> network_;
  std::unique_ptr<engine::ScheduleQueue> queue_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<onesided::OneSidedEngine> one_sided_engine_;
  engine::BootstrapArea* area_ = nullptr;
  std::function<void()> also_;
  std::array<std::uint64_t, kSize> at_{}; // where each peer's next record goes
  std::uint64_t shared_at_ = 0;           // slots written so far
  std::vector<Message> messages_;         // reserved by matched probes
  std::uint64_t next_cookie_ = 0;
  bool announces_ = false;
};

} // namespace heddle::fuzz
