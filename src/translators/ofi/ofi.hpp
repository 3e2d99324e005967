// The translator for the networks that libfabric knows. Small puts are messages; larger data is moved between the two memories by remote
// access, at the word of the process whose memory is asked for: so nobody reaches what is not granted, whatever the
// provider checks, and every provider's bytes are in order. The target has to make calls. See docs/protocols/ofi.md.
#pragma once

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/reserve.hpp"
#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/entry.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"
#include "translators/ofi/endpoint.hpp"
#include "translators/ofi/options.hpp"
#include "translators/ofi/wire.hpp"

#if HEDDLE_HAS_LIBFABRIC

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::translators {

class Ofi final : public ir::Translator, public ir::Sleeping, public ir::Areas, public ir::Senders {
 public:
  static constexpr std::string_view kName = "ofi";
  static constexpr std::string_view kReach = "processes that one of libfabric's providers reaches";
  static constexpr std::span<const base::SectionOption> kOptions = ofi::kOptions;

  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup& setup);
  // Leaves in good order: waits until the peers have what was sent to them.
  ~Ofi() override;

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] ir::Facets facets() override {
    return {.areas = this, .senders = this, .sleeping = endpoint_.descriptor() < 0 ? nullptr : this};
  }
  [[nodiscard]] ir::Address address() const override { return self_; }
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return memory_.allocate(next_key(), bytes); }
  void deallocate(const ir::ExposedMemory& memory) override {
    if (close_area(memory.place)) memory_.deallocate(memory); // else it is kept: libfabric may touch it yet
  }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(next_key(), memory); }
  void withdraw(const ir::RemotePlace& place) override { (void)close_area(place); }
  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) override { return allocate(bytes); }
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) override { return expose(memory); }
  [[nodiscard]] Result<void> close_area(const ir::RemotePlace& place) override;
  void release_area(const ir::ExposedMemory& memory) override { memory_.deallocate(memory); }
  void expect(ir::Peer peer, const ir::Address& address) override;
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override;
  [[nodiscard]] bool will_tell_end(ir::Peer peer) const override;

  bool announce_sleep(By by) override;
  void cancel_sleep() override {}
  void sleep(std::chrono::nanoseconds limit) override;
  [[nodiscard]] Result<int> descriptor() override { return sleeper_.number(); }

 private:
  struct Remote;

  // Something that libfabric works on, and its memory; it comes back as the context of a completion.
  struct Work {
    enum class What : std::uint8_t { receive, send, read, write };
    fi_context2 context{}; // first
    What what{};
    bool under_way = false;
    Remote* remote = nullptr;
    ofi::Registered local;     // of a read or write
    std::byte* data = nullptr; // kFrameBytes
    void* descriptor = nullptr;
    std::size_t bytes = 0;

    [[nodiscard]] ofi::Frame frame() const;
    [[nodiscard]] ir::Command command() const; // that the frame asks for; local: its payload
  };
  struct Block { // of Works
    std::vector<Work> works;
    std::unique_ptr<std::byte[]> memory;
    ofi::Registered registered;
  };
  struct Remote {
    std::uint32_t rank = 0;
    fi_addr_t at = FI_ADDR_NOTAVAIL;
    bool attached = false;
    bool has_left = false;     // it has said goodbye
    bool said_goodbye = false; // to it
    bool answered = false;     // that
    bool is_stuck = false;     // data that it was to move was waited for in vain
    bool lost = false;         // it cannot be reached any more
    bool detached = false;     // nobody here waits for it
    std::uint32_t sent = 0;
    std::uint32_t heard = 0;
    ir::Address address{};
    base::BackedDeque<Work*> queue; // frames that wait for room
    base::BackedDeque<Work*> held;  // frames that came behind a put whose data is being read
    Work* reading = nullptr;        // for that put
    std::size_t sends = 0;          // under way

    [[nodiscard]] bool is_busy() const { return sends > 0 || !queue.empty(); }
    // Whether what it is to move may never end: nobody stays awake for that.
    [[nodiscard]] bool may_never_end() const { return lost || detached || is_stuck; }
  };
  // A command that waits for its answer.
  struct Asked {
    ir::Event end{};
    ofi::Registered memory; // that the peer reads or writes
    bool signalled = false;
  };

  Ofi(const TranslatorSetup& setup, ofi::Endpoint endpoint);
  Result<void> begin(std::uint64_t node);
  ir::MemoryKey next_key() { return std::exchange(next_key_, ir::MemoryKey{keys_.draw()}); }
  // Where that can be found out: on this machine.
  [[nodiscard]] Result<void> lives(const ir::Address& address) const;
  Remote* remote_of(std::uint32_t rank); // null: nobody's
  bool meet(Remote& remote);             // false: the provider does not take its address

  // Out: ofi.cpp
  void carry(Remote& remote, const ir::Command& command);
  std::uint32_t ask(const ir::Command& command, ofi::Registered memory);
  void end_asked(std::uint32_t number, ir::Status status, std::uint64_t value);
  void end_all_asked(ir::Peer peer, ir::Status status);
  void send(Remote& remote, ofi::Frame frame, std::span<const std::byte> head = {},
            std::span<const std::byte> data = {});
  void flush(Remote& remote);
  // It cannot be reached any more.
  void lose(Remote& remote);

  // In: incoming.cpp
  Result<void> grow();
  bool may_take();
  Work& take_work();
  void give_back(Work& work);
  void post_receives();
  void progress();
  void done(Work& work, std::size_t bytes, bool good);
  // True: the work is still needed.
  bool arrived(Work& work);
  bool act(Remote& remote, Work& work);
  void answer(Remote& remote, std::uint32_t number, ir::Status status, std::uint64_t value = 0);
  void announce(const Remote& remote, const ofi::Frame& frame);
  void act_on_held(Remote& remote);
  void start(Work& work);
  void moved(Work& work, ir::Status status, bool by_answer = false);

  std::uint32_t rank_;
  std::uint64_t token_;
  base::Log log_;
  ofi::Endpoint endpoint_;
  ir::Address self_;
  ir::Capabilities capabilities_;
  base::Descriptor sign_;    // by which processes of this machine see that this one lives
  base::Descriptor sleeper_; // readable when something arrives
  base::Descriptor ringer_;  // makes it so
  AreaKeys keys_ = AreaKeys::secret();
  ir::MemoryKey next_key_;
  MemoryTable memory_;
  BackedEventList events_;
  std::vector<ir::Address> addresses_;           // by rank: of all who may be heard of
  std::vector<std::unique_ptr<Remote>> remotes_; // by rank
  std::vector<Block> blocks_;
  std::vector<Work*> free_;
  base::BackedVector<Remote*> waiting_;            // their queues are not empty
  base::BackedVector<Work*> transfers_;            // reads and writes, under way or to be started
  std::unordered_map<std::uint32_t, Asked> asked_; // by number
  std::uint32_t last_number_ = 0;
  std::size_t receives_ = 0;
  bool rung_ = false;
};

} // namespace heddle::translators
#endif
