// Shared memory between the processes of one machine. Rings and bootstrap memory lie in a segment that peers map; large
// messages go straight from one process's private memory to the other's through the kernel, where it allows that.
#pragma once

#include "base/log.hpp"
#include "base/process_watch.hpp"
#include "ir/translator.hpp"
#include "segments/guests.hpp"
#include "segments/segment.hpp"
#include "translators/entry.hpp"
#include "translators/event_list.hpp"
#include "translators/shm/areas.hpp"
#include "translators/shm/options.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace heddle::translators {

using segments::AccessGate;
using segments::GuestBook;

class Shm final : public ir::Translator,
                  public ir::Areas,
                  public ir::DirectMemory,
                  public ir::Sleeping,
                  public ir::Naming {
 public:
  struct Config {
    std::uint32_t rank = 0;
    std::uint32_t size = 1;        // processes of the job
    std::uint64_t uid = 0;         // in an open world; see TranslatorSetup
    std::uint64_t node = 0;        // this machine, as opposed to others
    std::uint64_t ring_memory = 0; // bytes that allocate must be able to give, beside a little for each peer
    CrossMemory cross_memory = CrossMemory::automatic;
    base::Log log{};
  };
  static Result<std::unique_ptr<Shm>> create(const Config& config);

  // For the registry.
  static constexpr std::string_view kName = "shm";
  static constexpr std::string_view kReach = "processes of the same machine";
  static constexpr std::span<const base::SectionOption> kOptions = shm::kOptions;
  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup& setup);

  ~Shm() override;

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] ir::Facets facets() override {
    return {.areas = this, .direct_memory = this, .sleeping = this, .naming = this};
  }
  [[nodiscard]] ir::Address address() const override;
  [[nodiscard]] char letter() const override { return 's'; }
  [[nodiscard]] ir::ShortAddress short_address() const override;
  [[nodiscard]] Result<ir::Address> whole_address(std::uint64_t uid,
                                                  std::span<const std::byte> shortened) const override;
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  void deallocate(const ir::ExposedMemory& memory) override;
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override;
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) override;
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) override;
  [[nodiscard]] Result<void> close_area(const ir::RemotePlace& place) override;
  void release_area(const ir::ExposedMemory& memory) override;
  [[nodiscard]] ir::DirectArea direct_area(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) override;
  void leave_area(ir::Peer peer, const ir::RemotePlace& place) override;
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  [[nodiscard]] ir::DirectRing direct_ring(ir::Peer peer, const ir::RemotePlace& place, std::uint64_t bytes) override;
  void wake(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override {
    if (guests_) look_for_ends();
    return events_.pop(events);
  }
  bool announce_sleep(By by) override;
  void cancel_sleep() override;
  void sleep(std::chrono::nanoseconds limit) override;
  [[nodiscard]] Result<int> descriptor() override;

 private:
  struct Attached {
    Mapping mapping;
    std::int32_t process = 0;
    std::uint64_t segment = 0;  // its inode
    AccessGate* gate = nullptr; // to its private memory
    GuestBook* book = nullptr;  // that this process has signed
    bool cross_memory = false;
    bool gone = false;        // and reported
    bool written = false;     // it has been put something, and may use what that says
    std::uint32_t number = 0; // by which the peer's tables know this process: its rank, or its line in the guest book
    PeerAreas areas;
    segments::PeerBell bell;
  };
  struct Outcome {
    ir::Status status = ir::Status::ok;
    std::uint64_t value = 0;
    std::int64_t vendor_code = 0;
  };

  Shm(const Config& config, Segment segment);
  Result<std::unique_ptr<Attached>> meet(ir::Peer peer, const ir::Address& address);
  // An open world: signs the peer's guest book, and strikes itself out.
  Result<void> sign_in(Attached& peer, std::uint32_t number);
  void sign_out(Attached& peer);
  // Guests that have left, peers and guests that have died, and hosts that have left without having been guests.
  void look_for_ends();
  void look_for_deaths();
  // False: there is no memory for the event now.
  bool tell_end(ir::EventKind kind, ir::Peer peer, const segments::Guest& guest);
  void look_at_guests();
  // False: there is no memory for it now.
  bool try_to_watch(std::int32_t process);
  void look_at_hosts();
  static void nudge(const segments::SegmentName& guest);
  static bool has_left(const Attached& peer);
  [[nodiscard]] Attached* find(ir::Peer peer) const; // null when not attached
  Outcome execute(Attached& peer, const ir::Command& command);
  Outcome execute_in_area(Attached& peer, const ir::Command& command);
  // On `room` bytes of memory that offsets count from the start of.
  static Outcome execute_on(std::byte* memory, std::uint64_t room, const ir::Command& command);
  static void wake(Attached& peer);
  static void wake_if_asleep(Attached& peer) {
    if (ir::must_wake(peer.mapping.header().asleep)) [[unlikely]]
      wake(peer);
  }
  void report(const ir::Command& command, const Outcome& outcome);
  static std::byte* reach(const Attached& peer, const ir::RemotePlace& place, std::uint64_t bytes);
  // `base` is what the command's offset counts from in the peer's private memory.
  static Outcome copy_across(const Attached& peer, const ir::Command& command, std::uint64_t base);

  base::Log log_;
  CrossMemory wish_;
  int read_refusal_ = 0; // errno of the try to read another process's memory; 0: it worked, or was not wished for
  std::uint32_t rank_;
  std::uint64_t node_;
  Segment segment_;
  std::unique_ptr<OwnAreas> own_areas_; // made with the first area
  ir::Capabilities capabilities_;
  std::uint32_t processes_;                         // that may reach areas here
  std::vector<std::unique_ptr<Attached>> attached_; // by rank, as far as they were talked to
  OwnAreas& own_areas();
  EventList events_;
  std::optional<segments::Guests> guests_; // in an open world
  base::ProcessWatch watch_;
  base::Descriptor poller_; // of bell and watch
  std::uint64_t uid_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t last_look_ns_ = 0;
  std::optional<segments::Bell> bell_;   // made when it is first slept by
  std::unique_ptr<std::uint64_t> nonce_; // in private memory, for peers to try to read
  bool wakes_at_once_ = false;           // the kernel orders sleepers against writers
  bool sleeps_ordered_ = false;          // has ordered the sleep that is announced
  bool told_refusal_ = false;
};

} // namespace heddle::translators
