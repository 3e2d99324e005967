// One operation under way, and the pool that all of them live in. Operations are completed in engine_state.hpp, and completions are taken
// in engine_inline.hpp.
#pragma once

#include "engine/matching/key_table.hpp"
#include "engine/record.hpp"
#include "ir/command.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::engine {

struct Connection;

enum class OperationKind : std::uint8_t {
  send,
  receive,
  unsolicited_send,
  unsolicited_receive,
  barrier,
  exchange,
  pattern,
  one_sided
};

// Where an operation stands. The machines of messages/ say which follow which, and which ends pass them by.
enum class Stage : std::uint8_t {
  free,
  // sends
  queued,          // waits for the connection or for room in the ring
  awaiting_match,  // synchronous: sent whole, the receiver has not matched it
  awaiting_answer, // the request to send is out, the receiver has not answered
  streaming,       // its fragments are being written
  // receives
  posted,              // no message has matched
  reading,             // the message is being read from the sender's memory
  awaiting_assist,     // all is read but what the sender is copying
  receiving_fragments, // the message comes in pieces through the ring
  // others
  running, // a barrier, exchange or pattern: its plan is being carried out
  done,    // the completion waits to be fetched
};

// In the order of use: a whole message touches the first cache line when sent, two and a word when received.
// What the hot path writes and soon reads again it writes and reads member by member: a wider load would have to wait until
// the narrower stores before it have left the store buffer, behind a record whose cache line is still on its way.
struct alignas(64) Operation {
  OperationName name =
      0; // generation in the high half, index in the low; one word, so that it is read as it was written
  OperationKind kind{};
  Stage stage = Stage::free;
  Channel channel{};
  SendMode mode{};
  bool by_event = false;
  bool errors_only = false; // where by_event
  bool exposed = false;     // its memory is open to the peer, at `place`
  bool in_class = false;    // a posted receive, not exact: in the table of its class (matching.hpp)
  Completion completion;
  Operation* next = nullptr; // in the one OperationList it stands in, or among the free ones

  // Receive: what it accepts, its place among the posted ones, the caller's memory.
  Match match;
  Hook<Operation> posted;
  Layout target;
  std::uint64_t order = 0;
  std::uint64_t started = 0; // progress count when it began, for its age

  std::uint64_t cookie = 0;
  Connection* connection = nullptr; // the peer it is under way with, if any; null while it is free
  Operation* previous = nullptr;
  ConstLayout source; // send: the caller's memory

  // Rendezvous.
  OperationName partner = 0;    // the peer's name for its side of it
  ir::RemotePlace place;        // where the message can be read; where this process exposed it (send)
  std::uint64_t wanted = 0;     // bytes that will be moved
  std::uint64_t claimed = 0;    // bytes that a command has been posted for
  std::uint64_t moved = 0;      // bytes that are in place
  std::uint64_t in_flight = 0;  // commands whose event is not here
  std::uint64_t chunk = 0;      // of a shared copy, bytes per claim
  std::int32_t cell = -1;       // of a shared copy
  bool read_refused = false;    // a read of it was refused; no further one is posted
  std::uint8_t engine = 0;      // of this interface that its first chunk takes, while it is exposed or read
  std::uint8_t peer_engine = 0; // and of the sender's, as that has chosen it
  std::byte* buffer = nullptr;  // unsolicited receive, injected send: memory of the library
  std::uint64_t buffer_bytes = 0;
  bool injected = false; // a send of a copy of its message, in `buffer`

  [[nodiscard]] std::uint32_t index() const { return static_cast<std::uint32_t>(name); }
  [[nodiscard]] Request request() const { return {.name = name}; }
  [[nodiscard]] Completion outcome() const {
    return {.code = completion.code,
            .has_data = completion.has_data,
            .peer = completion.peer,
            .tag = completion.tag,
            .bytes = completion.bytes,
            .message_bytes = completion.message_bytes,
            .data = completion.data};
  }
};

// A first-in first-out list through Operation::next; an operation is in one list at a time.
class OperationList {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Operation* front() const { return head_; }
  void push_back(Operation& operation) {
    operation.next = nullptr;
    operation.previous = tail_;
    (tail_ == nullptr ? head_ : tail_->next) = &operation;
    tail_ = &operation;
  }
  void push_front(Operation& operation) {
    operation.previous = nullptr;
    operation.next = head_;
    (head_ == nullptr ? tail_ : head_->previous) = &operation;
    head_ = &operation;
  }
  void remove(Operation& operation) {
    (operation.previous == nullptr ? head_ : operation.previous->next) = operation.next;
    (operation.next == nullptr ? tail_ : operation.next->previous) = operation.previous;
    operation.next = operation.previous = nullptr;
  }
  Operation* pop_front() {
    Operation* first = head_;
    if (first != nullptr) remove(*first);
    return first;
  }

 private:
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

// Operations never move and are reused; the pool grows by whole blocks and allocates nothing while it need not grow.
class OperationPool {
 public:
  // The next take does not fail.
  void make_sure() {
    if (free_ == nullptr) [[unlikely]]
      grow();
  }
  Operation& take() {
    make_sure();
    Operation& operation = *free_;
    free_ = operation.next;
    return operation;
  }
  void give_back(Operation& operation) {
    operation.stage = Stage::free;
    operation.name += kGeneration; // every name of it is stale from here on
    operation.next = free_;
    free_ = &operation;
  }
  // Its names are stale from here on, but what it holds is still needed.
  static void retire(Operation& operation) { operation.name += kGeneration; }
  // The operation of that name, or null when it is stale or never was.
  [[nodiscard]] Operation* find(OperationName name) const {
    const auto index = static_cast<std::uint32_t>(name);
    if (index >= count_) [[unlikely]]
      return nullptr;
    Operation& operation = blocks_[index / kBlock][index % kBlock];
    return operation.name == name && operation.stage != Stage::free ? &operation : nullptr;
  }
  // The operation of that index: for cookies of commands, which keep their operation alive.
  [[nodiscard]] Operation* at(std::uint32_t index) const { return &blocks_[index / kBlock][index % kBlock]; }
  // Counted when asked for: looks at all of them.
  [[nodiscard]] std::size_t in_use() const {
    std::size_t count = 0;
    visit_all([&count](const Operation&) { ++count; });
    return count;
  }

  template <typename Visit>
  void visit_all(Visit&& visit) const {
    for (auto& block : blocks_)
      for (std::size_t i = 0; i < kBlock; ++i)
        if (block[i].stage != Stage::free) visit(block[i]);
  }

 private:
  static constexpr std::uint32_t kBlock = 256;
  static constexpr OperationName kGeneration = OperationName{1} << 32U;
  void grow();

  std::vector<std::unique_ptr<Operation[]>> blocks_;
  Operation* free_ = nullptr;
  std::uint32_t count_ = 0; // in all blocks
};

} // namespace heddle::engine
