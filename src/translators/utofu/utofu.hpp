// Tofu by its own interface. No connections: a process is found by coordinates and queues, its first memory by a tag that is the same
// everywhere, and nothing else is exchanged. Every network interface (TNI) is an engine with a queue (VCQ) of its own. Commands go as
// strong-order ones, so that those between two engines keep their order. docs/protocols/utofu.md: what is relied on, and what is not.
#pragma once

#include "base/reserve.hpp"
#include "ir/translator.hpp"
#include "translators/event_list.hpp"
#include "translators/utofu/memory.hpp"
#include "translators/utofu/options.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::translators {

struct TranslatorSetup;

namespace utofu {
class Post;
}

class Utofu final : public ir::Translator,
                    public ir::Areas,
                    public ir::Paths,
                    public ir::Senders,
                    public ir::BarrierGates {
 public:
  static constexpr std::string_view kName = "utofu";
  static constexpr std::string_view kReach = "processes of a machine with a Tofu network";
  static constexpr std::span<const base::SectionOption> kOptions = utofu::kOptions;
  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup& setup);
  ~Utofu() override;

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return can_; }
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] ir::Facets facets() override { return {.areas = this, .paths = this, .senders = this, .gates = this}; }
  [[nodiscard]] ir::Address address() const override;
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override;
  void deallocate(const ir::ExposedMemory& memory) override { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(memory, false); }
  void withdraw(const ir::RemotePlace& place) override { memory_.withdraw(place); }
  void expect(ir::Peer peer, const ir::Address& address) override;
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override;

  Result<ir::ExposedMemory> allocate_area(std::size_t bytes) override { return memory_.allocate_area(bytes); }
  Result<ir::RemotePlace> expose_area(std::span<std::byte> memory) override { return memory_.expose(memory, true); }
  [[nodiscard]] Result<void> close_area(const ir::RemotePlace& place) override;
  void release_area(const ir::ExposedMemory& memory) override { memory_.release_area(memory); }

  [[nodiscard]] ir::Resources resources() const override;
  // One as far as plans go, which then name both engines; choose_path and commands may name any of kPaths.
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 1; }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer peer, std::uint32_t path) const override;
  [[nodiscard]] std::uint64_t location() const override;
  void choose_path(ir::Peer peer, std::uint32_t path) override;
  void choose_engine(ir::Peer peer, std::uint8_t engine) override;

  Result<void> set_gates(std::span<const ir::GateRound> rounds) override;
  [[nodiscard]] bool begin_barrier() override;
  [[nodiscard]] bool barrier_ended() override;

 private:
  // Path 0 is the network's own choice; the others are the places a, b, c at which the way along X, Y and Z is gone.
  static constexpr std::uint32_t kPaths = 1 + 2 * 3 * 2;
  static constexpr std::size_t kMostGates = 16;
  static constexpr std::size_t kMostBlocks = 64;
  static constexpr std::size_t kBlock = 8448; // a record of 8 KiB with all that belongs to it
  // Slots of one peer at an engine: one that dies in silence keeps them.
  static constexpr std::uint16_t kMostHeld = 32;

  // What stands at the beginning of the first arena: who this is, for all who look.
  struct Identity {
    std::uint64_t salt = 0;
    std::uint64_t rank = 0;
    ir::RemotePlace bootstrap{};
    std::uint64_t gates = 0;
    std::array<utofu_vbg_id_t, kMostGates> gate{};
    std::array<std::uint64_t, 3> unused{};
    std::uint64_t bell = 0; // put there: 'I have read'
  };
  // As others learn it.
  struct Where {
    std::uint64_t salt = 0;
    std::array<std::uint8_t, 6> coords{};
    std::uint8_t engines = 0;
    std::array<std::uint8_t, 6> tni{}, cq{};
    bool named = false; // notices tell it who has put
  };
  struct Peer {
    bool attached = false;
    std::uint8_t engine = ir::kAnyEngine;
    Where where{};
    ir::RemotePlace bootstrap{};
    std::vector<utofu_vcq_id_t> ids{}; // of its engines, on the chosen path
  };
  // A command whose end is waited for. Its number goes along as edata; 0 is none.
  struct Slot {
    bool used = false, signalled = false;
    bool looks = false;            // at who somebody is
    std::uint16_t awaited = 0;     // notices
    std::uint16_t block = 0;       // a get's, from which it is copied out; 0: none
    std::span<std::byte> target{}; // to here
    ir::Event end{};
    utofu_stadd_t registered = 0; // for it alone
    utofu_vcq_id_t to = 0;        // and where: without a path
    utofu_stadd_t remote = 0;
    std::uint64_t extent = 0;
  };
  struct Engine {
    std::array<Slot, 256> slots{};
    std::byte* blocks = nullptr; // staging: what is put from there has left its own memory
    std::array<std::uint8_t, kMostBlocks + 1> block_users{};
    std::uint16_t next_slot = 0;
    std::vector<std::uint16_t> held{}; // slots, by peer
    std::size_t under_way = 0;         // TCQ notices

    [[nodiscard]] std::byte* block(std::uint16_t number) const { return blocks + (number - std::size_t{1}) * kBlock; }
  };

  Utofu(const utofu::Library& api, const TranslatorSetup& setup);
  Result<void> open(std::size_t most);
  Result<void> settle();
  [[nodiscard]] bool notices_name(const utofu::Vcq& sender);
  [[nodiscard]] utofu_vcq_id_t plain(utofu_vcq_id_t id) const; // without a path
  [[nodiscard]] utofu_stadd_t bell_of(utofu_vcq_id_t id) const;
  void take_gates();
  static std::array<std::uint8_t, 3> path_coords(std::uint32_t path);
  [[nodiscard]] Result<Where> where_is(const ir::Address& address) const;
  [[nodiscard]] utofu_vcq_id_t id_of(const Where& where, std::size_t engine, std::uint32_t path) const;
  [[nodiscard]] std::vector<utofu_vcq_id_t> ids_of(const Where& where, std::uint32_t path) const;
  // Reads there who it is.
  Result<Identity> look_at(ir::Peer peer, const ir::Address& address);

  // False: not now. A command that cannot be carried out ends at once.
  bool take(const ir::Command& command);
  enum class Taken : std::uint8_t { yes, not_now, ended };
  Taken carry(const Peer& peer, const ir::Command& command, ir::Status& end, bool looks = false);
  // How a command goes, and what it has taken for that.
  struct Way {
    std::size_t engine = 0;
    utofu_stadd_t remote = 0;
    std::uint64_t extent = 0;
    std::uint16_t slot = 0, block = 0; // 0: none
  };
  // `ended`: there is no memory for it.
  Taken prepare_put(const ir::Command& command, Way& way, utofu::Post& post);
  Taken prepare_get(const ir::Command& command, Way& way, utofu::Post& post);
  Taken prepare_atomic(const ir::Command& command, Way& way, utofu::Post& post);
  [[nodiscard]] Peer* attached(ir::Peer peer);
  bool take_slot(Way& way, const ir::Command& command);
  void give_back(std::size_t engine, Slot& slot);
  std::byte* take_block(Way& way); // null: not now
  void drop(const Way& way);
  // Where local memory is for that engine, registered for the slot if it is not yet; 0: it cannot be.
  utofu_stadd_t local_of(const Way& way, std::byte* memory, std::uint64_t bytes);

  void poll_engines();
  void noticed(std::size_t engine, int code, const utofu_mrq_notice& notice);
  std::optional<ir::Peer> sender(utofu_vcq_id_t queue);
  void end(std::size_t engine, Slot& slot);

  const utofu::Library api_;
  const std::uint32_t rank_;
  Where where_;
  std::vector<utofu::Vcq> vcqs_;
  utofu::Memory memory_;
  ir::Capabilities can_;
  std::size_t desc_bytes_ = 64;
  Identity* identity_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::vector<Engine> engines_;
  std::vector<Peer> peers_;
  base::BackedMap<utofu_vcq_id_t, ir::Peer> senders_; // by queue, as notices name it
  std::optional<ir::Status> looked_;
  std::vector<utofu_vbg_id_t> gates_;
  BackedEventList events_;
};

} // namespace heddle::translators
