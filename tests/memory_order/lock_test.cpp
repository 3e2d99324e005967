// Locks, the processes that want one as threads: one at a time, each sees what the last has left, nobody is forgotten, also when
// one of them dies at any step.
#include "base/flight_recorder.hpp"
#include "onesided/locks/locks.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include "onesided/locks/locks.cpp" // its steps over the model's memory
#include "onesided/locks/recovery.cpp"
#include "onesided/locks/words.cpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::memory_order {
namespace {

constexpr std::uint32_t kMostMembers = 3;
constexpr std::uint64_t kLockId = 4;

// What the processes share.
struct Shared {
  alignas(64) std::array<std::uint64_t, 32> lock{};
  alignas(64) std::uint64_t guarded = 0;
  // The records that tell a waiting process, or of a death: how those travel, and how a sleeper is woken, is checked elsewhere.
  std::array<std::atomic<std::uint32_t>, kMostMembers> mail{};
  static constexpr std::uint32_t kPassed = 1;
  static constexpr std::uint32_t kDeath = 256;
};

// Commands on the lock's memory. What a network promises of a get is only that it comes after commands that have ended: its words are read
// from the last to the first, which is the worst for whoever counts on the order in which they stand.
class Network final : public ir::Translator {
 public:
  explicit Network(Shared& shared) : memory_(reinterpret_cast<std::byte*>(shared.lock.data())) {}

  [[nodiscard]] std::string_view name() const override { return "model"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] heddle::Result<void> reaches(const ir::Address&) const override { return {}; }
  heddle::Result<ir::ExposedMemory> allocate(std::size_t) override { return std::unexpected(Error{}); }
  void deallocate(const ir::ExposedMemory&) override {}
  heddle::Result<ir::RemotePlace> expose(std::span<std::byte>) override { return std::unexpected(Error{}); }
  void withdraw(const ir::RemotePlace&) override {}
  heddle::Result<ir::RemotePlace> attach(ir::Peer, const ir::Address&) override { return ir::RemotePlace{}; }
  void detach(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command> commands) override {
    for (const ir::Command& command : commands) execute(command);
    return commands.size();
  }
  std::size_t poll(std::span<ir::Event> events) override {
    if (events_.empty()) return 0;
    events[0] = events_.front();
    events_.erase(events_.begin());
    return 1;
  }

 private:
  void execute(const ir::Command& command) {
    std::byte* at = memory_ + command.remote.offset;
    ir::Event event{.kind = ir::EventKind::completed, .peer = command.peer, .cookie = command.cookie};
    if (command.operation == ir::Operation::put) {
      translators::execute_put<ModelMemory>(command, at);
    } else if (command.operation == ir::Operation::get) {
      for (std::uint64_t end = command.bytes; end > 0; end -= sizeof(std::uint64_t)) {
        const std::uint64_t from = end - sizeof(std::uint64_t);
        const std::uint64_t word = ModelMemory::load(base::word_at(at + from), std::memory_order_acquire);
        std::memcpy(command.local + from, &word, sizeof word);
      }
    } else {
      event.value = translators::execute_atomic<ModelMemory>(command, at);
    }
    if (ir::has(command.flags, ir::Flags::signalled)) events_.push_back(event);
  }

  std::byte* memory_;
  ir::Capabilities capabilities_{.atomics = true};
  std::vector<ir::Event> events_;
};

class Member final : public engine::ProtocolHost {
 public:
  Member(Shared& shared, std::uint32_t rank, std::uint32_t size)
      : shared_(shared), engine_(rank, size, {}, recorder_), area_(common_.known.find_or_add(0, kLockId)) {}

  void reset(bool death_known, bool keeps, bool by_commands) {
    keeps_ = keeps;
    by_commands_ = by_commands;
    common_.work_list = {};
    locks_.emplace(common_);
    area_.seat = {};
    area_.state = onesided::KnownArea::State::open;
    area_.kind = onesided::AreaKind::lock;
    area_.atomics = true;
    area_.bytes = sizeof shared_.lock;
    network_.emplace(shared_);
    queue_.emplace(*network_);
    port_.queue = &*queue_;
    connection_.port = &port_;
    area_.connection = by_commands ? &connection_ : nullptr;
    if (!by_commands)
      area_.seat.direct = {.memory = reinterpret_cast<std::byte*>(shared_.lock.data()),
                           .live = &live_,
                           .key = 1,
                           .inside = &inside_,
                           .mark = engine_.rank + 1};
    dead_ = death_known ? 1 : 0;
    heard_ = 0;
    rounds_ = 0;
  }

  // As OneSided::lock and unlock; returns how the lock was got.
  ErrorCode lock(bool at_once) {
    if (at_once && locks_->lock_now(area_)) return ErrorCode::ok;
    tracker_.emplace();
    tracker_->begin();
    locks_->lock(area_, *tracker_);
    while (!tracker_->ended()) wait();
    return tracker_->code();
  }
  // True: got.
  bool try_lock() {
    tracker_.emplace();
    tracker_->begin();
    locks_->try_lock(area_, *tracker_);
    while (by_commands_ && !tracker_->ended()) wait();
    check(tracker_->ended(), "trying waits");
    check(tracker_->code() == ErrorCode::ok || tracker_->code() == ErrorCode::lock_busy, "trying fails");
    return tracker_->code() == ErrorCode::ok;
  }
  void unlock(bool at_once) {
    if (at_once && locks_->unlock_now(area_)) return;
    tracker_.emplace();
    tracker_->begin();
    locks_->unlock(area_, *tracker_);
    while (by_commands_ && !tracker_->ended()) wait();
    check(tracker_->ended(), "unlocking waits");
  }

  // Whoever is told hears of it by a record, which wakes it.
  engine::Connection* connection_to(std::uint32_t rank) override {
    post(shared_.mail.at(rank), Shared::kPassed);
    return nullptr;
  }
  void connect(engine::Connection&) override {}
  void pump_later(engine::Connection&) override {}
  [[nodiscard]] bool has_ended(std::uint32_t rank) const override { return rank == 0 && dead_ != 0; }
  [[nodiscard]] std::uint64_t cut_off() const override { return 0; }
  [[nodiscard]] std::uint64_t gone() const override { return dead_; }
  [[nodiscard]] std::span<const std::unique_ptr<engine::Port>> ports() const override { return {}; }

 private:
  // Sleeps until there is news, as a process that does nothing but wait; one that is alert does not sleep.
  void wait() {
    std::array<ir::Event, 1> events;
    if (queue_->poll(events) != 0) {
      locks_->command_ended(events[0]);
      return;
    }
    std::atomic<std::uint32_t>& mail = shared_.mail.at(engine_.rank);
    if (common_.work_list.tries_again()) {
      assume(++rounds_ < (by_commands_ ? 5 : 3)); // it looks again until somebody else has gone on
      locks_->look(area_);
      return;
    }
    assume(dead_ == 0 || heard_ != 0 || !keeps_); // nobody goes on who could tell it
    const std::uint32_t found = await(mail, heard_);
    if (found - heard_ >= Shared::kDeath) {
      dead_ = 1;
      locks_->peer_failed();
    }
    if ((found - heard_) % Shared::kDeath != 0) locks_->passed({.home = 0, .id = kLockId, .ticket = area_.seat.ticket});
    heard_ = found;
  }

  Shared& shared_;
  base::FlightRecorder recorder_{1};
  engine::EngineState engine_;
  engine::RecordWriter record_writer_;
  onesided::Common common_{.engine = engine_, .record_writer = record_writer_, .host = *this};
  std::optional<onesided::BasicLocks<ModelMemory>> locks_;
  onesided::KnownArea& area_;
  std::atomic<std::uint64_t> live_{1};
  std::atomic<std::uint64_t> inside_{0};
  std::optional<Tracker> tracker_;
  std::uint32_t dead_ = 0;
  std::uint32_t heard_ = 0;
  int rounds_ = 0;
  std::optional<Network> network_;
  std::optional<engine::ScheduleQueue> queue_;
  engine::Port port_;
  engine::Connection connection_;
  bool by_commands_ = false;
  bool keeps_ = false; // whoever has the lock keeps it
};

class LockProgram {
 public:
  struct Form {
    std::uint32_t members = 2;
    int times = 1;
    bool at_once = true;
    bool tries = false;  // the first of the living does
    bool mortal = false; // the first may die
    // The first is dead already: it had nothing to do with the lock, held it, or had a ticket and no claim yet.
    enum class Fallen : std::uint8_t { nobody, elsewhere, holder, in_gap };
    Fallen fallen = Fallen::nobody;
    bool by_commands = false; // no direct memory
  };
  explicit LockProgram(Form form) : form_(form) {
    for (std::uint32_t rank = 0; rank < form_.members; ++rank) members_.at(rank).emplace(shared_, rank, form_.members);
    if (form_.fallen != Form::Fallen::holder && form_.fallen != Form::Fallen::in_gap) return;
    const onesided::LockLayout layout{.size = form_.members};
    shared_.lock[onesided::LockLayout::kState / 8] = onesided::LockState{.next = 1, .serving = 0}.pack();
    if (form_.fallen == Form::Fallen::holder)
      shared_.lock.at(layout.claim(0) / 8) = onesided::LockClaim::pack(0, 0, true);
    if (form_.fallen == Form::Fallen::in_gap) shared_.lock.at(layout.trying(0) / 8) = 1;
  }

  [[nodiscard]] Program program() {
    Program program{.prepare =
                        [this] {
                          for (std::uint32_t rank = 0; rank < form_.members; ++rank)
                            members_.at(rank)->reset(has_fallen(), has_fallen(), form_.by_commands);
                        },
                    .threads = {}};
    for (std::uint32_t rank = first(); rank < form_.members; ++rank)
      program.threads.emplace_back([this, rank] { use(rank); });
    if (!form_.mortal) return program;
    program.mortal = 0;
    program.at_death = [this] {
      for (std::uint32_t rank = 1; rank < form_.members; ++rank) post(shared_.mail.at(rank), Shared::kDeath);
    };
    return program;
  }

 private:
  [[nodiscard]] std::uint32_t first() const { return has_fallen() ? 1 : 0; }
  [[nodiscard]] bool has_fallen() const { return form_.fallen != Form::Fallen::nobody; }
  void lock(std::uint32_t rank) {
    const ErrorCode code = members_.at(rank)->lock(form_.at_once);
    const bool died = form_.fallen == Form::Fallen::holder || form_.fallen == Form::Fallen::in_gap;
    check(!died || code == ErrorCode::holder_died, "the next holder does not hear of the death");
    check(died || code == ErrorCode::ok || (form_.mortal && code == ErrorCode::holder_died), "the lock is not got");
  }
  void use(std::uint32_t rank) {
    auto* guarded = reinterpret_cast<std::byte*>(&shared_.guarded);
    for (int i = 0; i < form_.times; ++i) {
      if (form_.tries && rank == first()) {
        if (!members_.at(rank)->try_lock()) continue;
      } else {
        lock(rank);
      }
      std::uint64_t before = 0;
      ModelMemory::copy_out(reinterpret_cast<std::byte*>(&before), guarded, sizeof before);
      ModelMemory::plain_store(guarded, before + 1);
      if (!has_fallen()) members_.at(rank)->unlock(form_.at_once);
    }
  }

  const Form form_;
  Shared shared_;
  std::array<std::optional<Member>, kMostMembers> members_;
};

TEST(EveryOrder, OfALockLetsOneInAtATime) {
  using Fallen = LockProgram::Form::Fallen;
  LockProgram at_once({.members = 2});
  LockProgram in_turn({.members = 2, .times = 2, .at_once = false});
  LockProgram three({.members = 3, .at_once = false});
  LockProgram tries({.members = 2, .tries = true});
  LockProgram mortal({.members = 2, .mortal = true});
  LockProgram elsewhere({.members = 3, .fallen = Fallen::elsewhere});
  LockProgram in_turn_elsewhere({.members = 3, .at_once = false, .fallen = Fallen::elsewhere});
  LockProgram tries_elsewhere({.members = 3, .tries = true, .fallen = Fallen::elsewhere});
  LockProgram holder({.members = 3, .at_once = false, .fallen = Fallen::holder});
  LockProgram in_gap({.members = 3, .at_once = false, .fallen = Fallen::in_gap});
  expect_sound_and_minimal({{"two at once", at_once.program()},
                            {"two in turn", in_turn.program()},
                            {"three in turn", three.program()},
                            {"one tries", tries.program()},
                            {"one of two may die", mortal.program()},
                            {"a death that does not concern the lock", elsewhere.program()},
                            {"the same, in turn", in_turn_elsewhere.program()},
                            {"the same, and one tries", tries_elsewhere.program()},
                            {"the holder is dead", holder.program()},
                            {"one without a claim is dead", in_gap.program()}});
}

TEST(EveryOrder, OfALockByCommandsLetsOneInAtATime) {
  using Fallen = LockProgram::Form::Fallen;
  LockProgram in_turn({.members = 2, .at_once = false, .by_commands = true});
  LockProgram elsewhere({.members = 3, .at_once = false, .fallen = Fallen::elsewhere, .by_commands = true});
  LockProgram tries({.members = 3, .at_once = false, .tries = true, .fallen = Fallen::elsewhere, .by_commands = true});
  LockProgram holder({.members = 2, .at_once = false, .fallen = Fallen::holder, .by_commands = true});
  LockProgram in_gap({.members = 2, .at_once = false, .fallen = Fallen::in_gap, .by_commands = true});
  LockProgram mortal({.members = 2, .at_once = false, .mortal = true, .by_commands = true});
  // What the network asks for is not the lock's.
  for (const Named& named : std::vector<Named>{{"two in turn", in_turn.program()},
                                               {"a death that does not concern the lock", elsewhere.program()},
                                               {"the same, and one tries", tries.program()},
                                               {"the holder is dead", holder.program()},
                                               {"one without a claim is dead", in_gap.program()},
                                               {"one of two may die", mortal.program()}}) {
    const Result result = explore(named.program);
    EXPECT_FALSE(result.violated) << named.name << ": " << result.what;
    EXPECT_TRUE(result.violated || result.complete) << named.name;
    EXPECT_TRUE(result.unending.empty()) << named.name;
    std::cout << named.name << ": " << result.executions << " executions\n";
  }
}

} // namespace
} // namespace heddle::memory_order
