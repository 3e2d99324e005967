// The translator for TCP: processes of any machines that reach each other by IP. A put is a frame that the target carries out when
// it polls: the target has to make calls, also for one-sided operations. See docs/protocols/tcp.md.
#pragma once

#include "auth/door.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/reserve.hpp"
#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/entry.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"
#include "translators/tcp/look_round.hpp"
#include "translators/tcp/options.hpp"
#include "translators/tcp/wire.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::translators {

class Tcp final : public ir::Translator,
                  public ir::Sleeping,
                  public ir::Paths,
                  public ir::Naming,
                  private tcp::FrameTaker {
 public:
  static constexpr std::string_view kName = "tcp";
  static constexpr std::string_view kReach = "processes that are reached by IP";
  static constexpr std::span<const base::SectionOption> kOptions = tcp::kOptions;

  struct Setup {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint64_t uid = 0;  // in an open world; 0: in a job
    std::uint64_t node = 0; // equal where loopback leads
    tcp::Listening listening{};
    std::size_t most_waiting = kMostWaitingInAll;
    base::Log log{};
  };
  // Bytes for all peers that may wait here to leave: beyond, a command to a peer for whom something waits is not taken.
  static constexpr std::size_t kMostWaitingInAll = 64 << 20;
  static Result<std::unique_ptr<Tcp>> create(const Setup& setup);
  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup& setup);
  // Says goodbye to everybody, and waits a while for those who take nothing.
  ~Tcp() override;

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] ir::Facets facets() override {
    return {.paths = doors_.size() > 1 ? this : nullptr, .sleeping = this, .naming = this};
  }
  [[nodiscard]] ir::Address address() const override { return self_.pack(); }
  [[nodiscard]] char letter() const override { return 't'; }
  [[nodiscard]] ir::ShortAddress short_address() const override { return self_.shorten(); }
  [[nodiscard]] Result<ir::Address> whole_address(std::uint64_t uid,
                                                  std::span<const std::byte> shortened) const override {
    const auto place = tcp::Place::lengthen(uid, shortened);
    if (!place) return std::unexpected(place.error());
    return place->pack();
  }
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return memory_.allocate(next_key(), bytes); }
  void deallocate(const ir::ExposedMemory& memory) override {
    take_back_lent(memory.place.key);
    memory_.deallocate(memory);
  }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(next_key(), memory); }
  void withdraw(const ir::RemotePlace& place) override {
    take_back_lent(place.key);
    memory_.withdraw(place.key);
  }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override;
  [[nodiscard]] bool will_tell_end(ir::Peer peer) const override;
  // Bytes that wait here to leave.
  [[nodiscard]] std::size_t waiting() const { return waiting_in_all_; }

  // Sleeping. Sockets stay readable: all that an announcement takes is that every one of them is watched.
  bool announce_sleep(By by) override;
  void cancel_sleep() override { idle_polls_ = 0; }
  void sleep(std::chrono::nanoseconds limit) override;
  [[nodiscard]] Result<int> descriptor() override { return poller_.number(); }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> due() override;

  // Paths. Each network that this process listens at is an engine; between them there is nothing to choose by path.
  [[nodiscard]] ir::Resources resources() const override;
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 1; }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer, std::uint32_t) const override { return {}; }
  [[nodiscard]] std::uint64_t location() const override { return 0; }
  void choose_path(ir::Peer, std::uint32_t) override {}

 private:
  using Clock = std::chrono::steady_clock;

  using Doors = std::vector<std::unique_ptr<auth::Door>>; // one for each network

  Tcp(const Setup& setup, const tcp::Place& self, Doors doors, base::Descriptor poller);

  // FrameTaker, for the wire that is being read.
  bool begin(const tcp::Frame& frame, std::span<const std::byte> head) override;
  std::byte* payload_target(const tcp::Frame& frame, std::uint64_t done) override;
  void end(const tcp::Frame& frame, std::span<const std::byte> head, std::span<const std::byte> tail) override;

  ir::MemoryKey next_key() { return std::exchange(next_key_, ir::MemoryKey{keys_.draw()}); }
  [[nodiscard]] bool is_open_world() const { return uid_ != 0; }

  // tcp.cpp
  void say_goodbye(tcp::Wire& wire);
  // When it leaves. True: all of it is on its way, and nothing of the peers' is unread.
  [[nodiscard]] bool has_said_all();
  [[nodiscard]] bool takes(const tcp::Wire& wire, const ir::Command& command) const;
  void complete(ir::Peer peer, std::uint64_t cookie, ir::Status status, std::uint64_t value);

  // Polling: polling.cpp
  void look(bool takes_no_events);
  [[nodiscard]] bool looks_now();
  void flush_listed();
  void read_hot();
  // True: it has brought something.
  bool read(tcp::Wire& wire);
  void flush(tcp::Wire& wire);
  void choose_hot(tcp::Wire& wire, bool alone);
  // The system's list of those it tells of makes every packet dearer. The one that is read without asking need not be on it, but for a
  // sleep.
  void unwatch(tcp::Wire& wire);
  // False: the system has no room to. Then it stays the one that is read without asking.
  bool watch_again();

  // Connections: wires.cpp
  tcp::Wire& wire_of(std::uint64_t id);
  Result<void> connect(tcp::Wire& wire);
  void prove(tcp::Wire& wire);
  void turned_away(tcp::Wire& wire, const std::string& why);
  void say_hello(tcp::Wire& wire);
  void read_answer(tcp::Wire& wire);
  void opened(tcp::Wire& wire);
  void admit();
  // True: it has said who it is, or will never: it is to be forgotten.
  bool hear(tcp::Newcomer& newcomer);
  tcp::Verdict judge(const tcp::Hello& hello);
  // What has come in is the wire's from now on.
  void take_over(tcp::Wire& wire, tcp::Newcomer& newcomer);
  // False: the system has no room to tell of it.
  bool watch(tcp::Wire& wire, std::uint32_t events);
  void look_at_clock();
  void look_at_clock(tcp::Wire& wire, Clock::time_point now);
  // Those of which it is true. The poller is told, too: it goes on to tell of a connection that a child of this process holds.
  template <typename Over>
  void forget_newcomers(Over&& over);
  void epoll_pass();
  void handle(tcp::Wire& wire);

  // Their ends: endings.cpp
  void tell_end(tcp::Wire& wire, std::uint64_t stay, bool left);
  // The connection is over: of an open one that nobody has closed in good order it is found out whether the peer lives.
  void end_wire(tcp::Wire& wire);
  // It has not come about, or nobody answers any more.
  void give_up(tcp::Wire& wire);
  void close_socket(tcp::Wire& wire);
  // And of its further lanes.
  void let_go_of_socket(tcp::Wire& wire);
  Result<void> connect_again(tcp::Wire& wire);
  void find_out(tcp::Wire& wire);
  // Tells what has become of the peer.
  void settle(tcp::Wire& wire, ir::EventKind kind);
  void release_held();

  // Several networks: lanes.cpp
  // The address that a connection is made from; null: as the routes say.
  [[nodiscard]] const in6_addr* source_of(const tcp::Wire& wire) const;
  [[nodiscard]] tcp::Wire& lane_of(tcp::Wire& first, std::uint32_t lane);
  void call_lanes(tcp::Wire& first, const tcp::Welcome& welcome);
  // As hear.
  bool hear_lane(tcp::Newcomer& newcomer, const tcp::Hello& hello);
  void end_lane(tcp::Wire& lane);
  // By which of the pair's connections the command goes.
  [[nodiscard]] static tcp::Wire& lane_for(tcp::Wire& first, const ir::Command& command);
  template <typename Do>
  static void for_each_lane(tcp::Wire& first, Do&& act) {
    act(first);
    for (auto& lane : first.lanes) act(*lane);
  }

  // Commands as frames: carrying_out.cpp
  void send(tcp::Wire& wire, const ir::Command& command);
  // Before a frame is sent. True: the other side is to confirm it.
  [[nodiscard]] bool gathers(tcp::Wire& wire, std::uint64_t bytes);
  void list(tcp::Wire& wire);
  [[nodiscard]] static ir::Command command_of(const tcp::Frame& frame, std::span<const std::byte> head);
  [[nodiscard]] bool is_expected(const tcp::Frame& answer) const;
  ir::Status finish_put(ir::Command command, std::span<const std::byte> tail);
  void take_answer(const tcp::Frame& frame, std::span<const std::byte> tail);
  // Those that wait for an answer. It may still come: their numbers stay taken.
  void end_asked(tcp::Wire& wire, ir::Status status);

  // Notices and answers: answering.cpp
  void send_notice(tcp::Wire& wire, tcp::FrameKind kind, std::uint64_t number);
  // `socket` -1: it leaves at the next flush. Never lacks memory.
  void send_or_owe(tcp::Wire& wire, tcp::Frame frame, int socket);
  static void pay_owed(tcp::Wire& wire);
  void answer(tcp::Wire& wire, const tcp::Frame& frame, ir::Status status, std::uint64_t value);
  void serve_gets(tcp::Wire& wire);
  void take_back_lent(ir::MemoryKey key);

  std::uint32_t size_;
  std::uint64_t uid_;
  base::Log log_;
  tcp::Listening listening_;
  ir::Capabilities capabilities_;
  AreaKeys keys_ = AreaKeys::secret();
  tcp::Place self_;
  ir::MemoryKey next_key_;
  Doors doors_;
  base::Descriptor poller_;
  MemoryTable memory_;
  BackedEventList events_;
  std::size_t most_waiting_;
  std::size_t waiting_in_all_ = 0;                                      // before those who count in it
  std::unordered_map<std::uint64_t, std::unique_ptr<tcp::Wire>> wires_; // by id of the process
  std::unordered_map<std::uint32_t, tcp::Wire*> attached_;              // by number; null: this process itself
  base::BackedMap<std::uint32_t, ir::Status> gone_;                     // attached ones whose wire has ended
  base::BackedList<tcp::Newcomer> newcomers_;
  base::BackedVector<tcp::Wire*> to_flush_;
  tcp::Wire* hot_ = nullptr; // the only one that something comes from, as it seems: read without asking
  std::uint64_t hot_reads_ = 0;
  std::uint32_t fruitful_reads_ = 0;                 // of them, since it was last watched
  std::uint64_t no_hot_until_ = 0;                   // that many polls: several bring something
  tcp::Wire* reading_ = nullptr;                     // whose frames are being taken
  std::unique_ptr<std::byte[]> memory_to_read_into_; // pages that are not needed are never touched
  std::span<std::byte> buffer_;                      // all of it
  tcp::LookRound look_round_;
  base::BackedVector<tcp::Wire*> held_; // see Wire::held
  std::uint64_t polls_ = 0;
  std::uint64_t idle_polls_ = 0;     // since something came or went
  bool slept_ = false;               // since the clock was looked at
  std::uint64_t last_looked_ns_ = 0; // while there was nothing
  std::uint64_t attempts_ = 0;
};

} // namespace heddle::translators
