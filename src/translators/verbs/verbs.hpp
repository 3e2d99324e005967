// InfiniBand and RoCE, by libibverbs. See docs/protocols/verbs.md.
#pragma once

#include "base/log.hpp"
#include "ir/translator.hpp"
#include "translators/entry.hpp"
#include "translators/event_list.hpp"
#include "translators/verbs/lane.hpp"

#include <string>
#include <unordered_map>

namespace heddle::translators {

class Verbs final : public ir::Translator, public ir::Paths, public ir::Sleeping, public ir::Naming {
 public:
  static constexpr std::string_view kName = "verbs";
  static constexpr std::string_view kReach =
      "processes on the same InfiniBand subnet, or on networks that RoCE crosses";
  static const std::span<const base::SectionOption> kOptions;

  struct Setup {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    std::uint64_t uid = 0; // in an open world; 0: in a job
    verbs::Wanted wanted{};
    std::optional<auth::Secret> secret{};
    std::uint32_t queue_pairs = 1024;
    std::chrono::seconds silence{10};
    base::Log log{};
  };
  static Result<std::unique_ptr<Verbs>> create(const Setup& setup);
  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup& setup);
  ~Verbs() override;

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] ir::Facets facets() override { return {.paths = this, .sleeping = this, .naming = this}; }
  [[nodiscard]] ir::Address address() const override;
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;

  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  void deallocate(const ir::ExposedMemory& memory) override { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(memory); }
  void withdraw(const ir::RemotePlace& place) override { memory_.withdraw(place); }

  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override { return under_way_ == 0 && owed_notices_ == 0; }

  [[nodiscard]] bool will_tell_end(ir::Peer peer) const override;

  // Paths: the LIDs of a peer's port, or its addresses on Ethernet.
  [[nodiscard]] ir::Resources resources() const override;
  [[nodiscard]] std::uint32_t paths_to(ir::Peer peer) const override;
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer, std::uint32_t) const override { return {}; }
  [[nodiscard]] std::uint64_t location() const override;
  void choose_path(ir::Peer peer, std::uint32_t path) override;
  void choose_engine(ir::Peer peer, std::uint8_t engine) override; // a port

  [[nodiscard]] char letter() const override { return 'v'; }
  [[nodiscard]] ir::ShortAddress short_address() const override;
  [[nodiscard]] Result<ir::Address> whole_address(std::uint64_t uid,
                                                  std::span<const std::byte> shortened) const override;

  bool announce_sleep(By by) override;
  void cancel_sleep() override;
  void sleep(std::chrono::nanoseconds limit) override;
  [[nodiscard]] Result<int> descriptor() override;

  // For tests and for people: queue pairs that there are now, and how many lanes were made anew.
  [[nodiscard]] std::uint32_t queue_pairs() const { return outgoing_ + static_cast<std::uint32_t>(incoming_.size()); }
  [[nodiscard]] std::uint64_t reopened() const { return reopened_; }
  [[nodiscard]] std::size_t indices() const { return lanes_.size(); }

 private:
  // The number of a work request holds a lane's index, its attempt and the command's number. With this bit it asks by a queue pair that
  // a peer has made.
  static constexpr std::uint64_t kWatching = std::uint64_t{1} << 63U;
  static constexpr std::uint32_t kMostIndices = 1U << 15U;

  using Lane = verbs::Lane;
  using Party = verbs::Party;
  using Slot = verbs::Slot;

  Verbs(const Setup& setup, std::unique_ptr<verbs::Device> device);
  Result<void> prepare(const Setup& setup);
  static std::uint32_t peer_number(ir::Peer peer) { return static_cast<std::uint32_t>(peer); }

  // posting.cpp: commands as work requests
  [[nodiscard]] bool sound(const ir::Command& command) const;
  enum class Filled : std::uint8_t { taken, not_now, never };
  Filled fill(Party& party, const ir::Command& command);
  Filled lacks_memory(std::uint64_t bytes);
  Filled place_contents(Slot& slot);
  void give_up(Party& party, const ir::Command& command);
  void send_waiting(Lane& lane);
  bool post(Lane& lane, std::uint32_t number);
  bool post_put(Lane& lane, const Slot& slot, ibv_send_wr& request);
  bool post_record(Lane& lane, const Slot& slot, ibv_send_wr& request);
  void confirm(Lane& lane);
  void confirm_all();

  // completing.cpp: what the adapter says
  void hear_completions();
  void hear_completion(const ibv_wc& one);
  void hear_arrivals();
  void hear_arrival(const ibv_wc& one);
  void hear_record(std::uint32_t pair, const std::byte* message, std::size_t bytes);
  void give_back(std::uint32_t room);
  void finish_until(Lane& lane, std::uint32_t number);
  void finish(Lane& lane, ir::Status status, std::int64_t vendor_code);
  void lane_failed(Lane& lane, const ibv_wc& completion);
  void complete(const ir::Command& command, ir::Status status, std::uint64_t value = 0, std::int64_t vendor = 0);

  // opening.cpp: queue pairs
  Lane* lane_to(Party& party, const ir::Command& command); // null: there are too many
  [[nodiscard]] std::uint8_t first_port_up(std::uint8_t otherwise) const;
  void bury_lanes();
  void want(Lane& lane);
  bool begin_opening(Lane& lane);
  void tell_no_pair(int error) const;
  void call_open(Lane& lane);
  void drop_pair(Lane& lane);
  void close_lane(Lane& lane);
  bool make_room_for(const Lane& lane);
  void tend();
  void tend_lane(Lane& lane, verbs::Clock::time_point now);
  void answer_open(Party& party, const verbs::Call& call);
  void hear_opened(Party& party, const verbs::Call& call);
  void drop_incoming(Party& party, std::uint32_t lane);
  bool ask_for_room();
  void call(Party& party, verbs::Call call);
  void answer(const verbs::Place& there, const verbs::Call& call, verbs::Subject subject);
  [[nodiscard]] bool hopeless(const Party& party, verbs::Clock::time_point now) const;

  // endings.cpp: calls, and how contact ends
  void hear_call(const verbs::Call& call);
  Party& party_of(const verbs::Place& place, std::uint32_t rank);
  void break_off(Party& party);
  void tend_breaking(Party& party, verbs::Clock::time_point now);
  void hear_goodbye(Party& party);
  void tend_leaving(Party& party, verbs::Clock::time_point now);
  void settle(Party& party, Party::State state);
  void end_lanes(Party& party, ir::Status status);
  void hear_device();
  void hear_pair(const ibv_qp* pair, ibv_event_type kind);
  void hear_port(int number, ibv_event_type kind);
  void fail_device(const char* why);
  void let_go(Party& party);

  // open_world.cpp: who attaches whom
  [[nodiscard]] bool is_open_world() const { return uid_ != 0; }
  void notify(Party& party, std::uint64_t what, ir::Peer number);
  void send_notices(Party& party);
  void hear_notice(Party& party, std::uint64_t what, std::uint32_t number);
  void end_stays(Party& party, ir::EventKind kind);
  void watch_peers(verbs::Clock::time_point now);

  std::uint32_t size_;
  std::uint32_t rank_;
  std::uint64_t uid_;
  std::uint32_t most_pairs_; // in each direction
  std::chrono::seconds silence_;
  base::Log log_;
  std::unique_ptr<verbs::Device> device_;
  verbs::Memory memory_{*device_};
  verbs::Memory::Pool slots_; // a lane's
  verbs::Memory::Pool large_; // contents of one command
  ir::Capabilities capabilities_{};
  verbs::Place self_;
  ir::MemoryKey bootstrap_{};
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* sent_queue_ = nullptr;    // commands
  ibv_cq* arrived_queue_ = nullptr; // what peers send, and calls
  ibv_srq* rooms_ = nullptr;
  verbs::Memory::Pool::Piece room_memory_{};
  std::uint32_t room_count_ = 0;
  std::vector<std::uint32_t> free_rooms_; // to be given back together
  std::unique_ptr<verbs::Door> door_;
  int waiting_ = -1; // epoll on channel_, the device's events and timer_
  int timer_ = -1;   // for what is due while the process sleeps
  bool timer_runs_ = false;

  std::unordered_map<std::uint64_t, std::unique_ptr<Party>> parties_; // by unique id
  std::unordered_map<std::uint32_t, Party*> attached_;
  std::unordered_map<std::uint32_t, ir::Status> gone_; // of numbers that were attached
  std::unordered_map<std::uint32_t, std::uint32_t> chosen_;
  std::vector<Lane*> lanes_; // by index; null: free
  struct FreeIndex {
    std::uint32_t index;
    std::uint32_t attempt; // last, so that what the adapter still says of it is not taken for the next lane's
  };
  std::vector<FreeIndex> free_indices_;
  bool some_gone_ = false; // whose lanes are to be buried
  std::vector<Lane*> tending_;
  std::vector<Party*> breaking_;
  std::vector<Party*> leaving_;
  std::unordered_map<std::uint32_t, verbs::Incoming*> incoming_; // by queue pair
  std::uint32_t outgoing_ = 0;
  std::uint64_t under_way_ = 0; // commands in lanes
  std::uint64_t posted_ = 0;    // that the adapter has
  std::uint64_t most_posted_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t reopened_ = 0;
  std::uint32_t polls_ = 0;
  std::uint32_t idle_polls_ = 0;
  std::size_t owed_notices_ = 0;
  bool failed_ = false; // the adapter has
  int refusal_ = 0;     // why a command could not be sent, as errno has it
  bool refusal_told_ = false;
  std::optional<verbs::Clock::time_point> port_down_; // the first, by which calls go: since when
  std::uint64_t empty_looks_ = 0;                     // times that nothing had arrived
  bool watching_ = false;                             // some answer to watch_peers may still come
  verbs::Clock::time_point watched_{};
  EventList events_;
};

} // namespace heddle::translators
