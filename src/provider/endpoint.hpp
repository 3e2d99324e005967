// An endpoint: a context of an open world, and what is under way in it. Tagged messages travel on the first channel; untagged ones, and what
// RMA and atomics say to each other, on the second, told apart by their tags.
#pragma once

#include "provider/control.hpp"
#include "provider/objects.hpp"

#include <heddle/heddle.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace heddle::provider {

// One call of the program's that has not completed, or one thing that the provider does on behalf of a peer.
struct Operation {
  enum class Kind : std::uint8_t {
    send,
    receive,
    discard,         // receives a message that nobody wants
    control_receive, // see control.hpp
    answer,          // sends what a peer reads
    landing,         // receives what a peer writes
    bulk,            // the message of a large part of RMA of this process
    remote,          // RMA or an atomic operation of this process
    greeting,        // sends nothing but that: see Endpoint::greet
  };
  Kind kind{};
  bool wanted = false; // an entry in the completion queue
  bool listed = false; // a receive that the endpoint matches itself: see Endpoint::untagged
  Endpoint* endpoint = nullptr;
  void* context = nullptr;
  std::uint64_t flags = 0; // of the entry
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  Request request{};
  Operation* next = nullptr; // among the receives, or the free ones
  Operation* previous = nullptr;
  std::array<Piece, kPieces> into;
  std::array<ConstPiece, kPieces> from;
  std::vector<std::byte> copy; // of an injected message that was too large for the library to inject

  // Of a buffer that takes many messages (FI_MULTI_RECV).
  bool takes_many = false;
  Operation* parent = nullptr; // of the receive of one of them
  std::size_t used = 0;
  std::uint32_t children = 0;
  Match match{};

  // Of what concerns memory.
  Counted counted{};
  std::uint32_t pending = 0; // parts
  ErrorCode code{};
  Control
      control{}; // landing: what asked for it; remote: the data word that the target is told of when all else has ended
  bool tells_last = false; // remote: there is one
  Rank peer{};
};

// One part of an RMA or atomic operation: what is still to come from the target.
struct Part {
  Operation* operation = nullptr;
  Rank peer{};
  std::vector<Piece> into; // what is read
  Request bulk{};
};

struct Endpoint {
  fid_ep fid{};
  Domain* domain = nullptr;
  std::optional<Context> context;
  Name name;
  std::uint64_t caps = 0;
  std::uint64_t transmit_flags = 0;
  std::uint64_t receive_flags = 0;
  AddressVector* addresses = nullptr;
  CompletionQueue* transmit_queue = nullptr;
  CompletionQueue* receive_queue = nullptr;
  bool transmit_selective = false;
  bool receive_selective = false;
  std::array<Counter*, kCounted> counters{};
  bool enabled = false;
  bool orders_memory = false;  // an order of RMA and atomics to one peer was asked for
  bool orders_sends = false;   // the same, of sends behind them
  std::size_t least_left = 64; // FI_OPT_MIN_MULTI_RECV

  explicit Endpoint(Context&& opened, const Name& own) : context(std::move(opened)), name(own) {}
  ~Endpoint();

  // --- Addresses ---
  // The rank of an address, added when it is first used. A negative error where that fails.
  [[nodiscard]] int rank_of(fi_addr_t address, Rank& rank) {
    if (address < ranks_.size() && ranks_[address] != kUnknown) [[likely]] {
      rank = Rank{ranks_[address]};
      return 0;
    }
    return add(address, rank);
  }
  void forget(fi_addr_t address);
  [[nodiscard]] fi_addr_t address_of(Rank rank);
  // Begins to connect to that peer, or to all of an address vector that is not large. What is injected has left only once there is a
  // connection, and making one takes progress at both sides, while many a program makes none after its last call.
  void greet(fi_addr_t address);
  void greet_all();

  // --- Progress ---
  std::size_t progress();
  bool may_sleep();
  // No call ever would: nothing that is bound to it is read.
  [[nodiscard]] bool makes_no_progress() const {
    return transmit_queue == nullptr && receive_queue == nullptr && counters == decltype(counters){};
  }
  // Whoever sleeps on one of its queues or counters.
  void wake_all();

  // --- Operations ---
  Operation& take(Operation::Kind kind);
  void give_back(Operation& operation);
  // A send that has ended where it began.
  void sent_at_once(std::uint64_t flags, bool wanted, void* of) {
    if (wanted) [[likely]]
      transmit_queue->add(CompletionQueue::Entry{.entry = {.op_context = of, .flags = flags}});
    count(Counted::send, true);
  }
  void count(Counted what, bool ok) {
    if (Counter* counter = counters[static_cast<std::size_t>(what)]) counter->count(ok);
  }
  [[nodiscard]] bool wants_transmit(std::uint64_t flags) const {
    return transmit_queue != nullptr && (!transmit_selective || (flags & FI_COMPLETION) != 0);
  }
  [[nodiscard]] bool wants_receive(std::uint64_t flags) const {
    return receive_queue != nullptr && (!receive_selective || (flags & FI_COMPLETION) != 0);
  }

  // --- Messages, tagged and untagged ---
  struct Sending {
    const iovec* pieces = nullptr;
    std::size_t count = 0;
    fi_addr_t to = 0;
    Channel channel{};
    std::uint64_t tag = 0;
    std::optional<std::uint64_t> data{};
    void* context = nullptr;
    std::uint64_t flags = 0; // of the call
    bool no_entry = false;   // inject: never one in the queue
  };
  ssize_t send(const Sending& what);
  struct Receiving {
    const iovec* pieces = nullptr;
    std::size_t count = 0;
    fi_addr_t from = FI_ADDR_UNSPEC;
    Channel channel{};
    std::uint64_t tag = 0;
    std::uint64_t ignore = 0;
    void* context = nullptr;
    std::uint64_t flags = 0;
  };
  ssize_t receive(const Receiving& what);
  ssize_t cancel(void* of);

  // --- Memory of others: memory.cpp at this side, served.cpp at the other ---
  struct Remote {
    ControlKind kind{};
    std::span<const ConstPiece> out{}; // written, or the operands
    std::span<const ConstPiece> compare{};
    std::span<const Piece> in{}; // read, or what was there before
    std::span<const fi_rma_iov> at{};
    fi_addr_t to = 0;
    std::uint8_t datatype = 0;
    std::uint8_t op = 0;
    std::optional<std::uint64_t> data{};
    void* context = nullptr;
    std::uint64_t entry_flags = 0;
    Counted counted{};
    bool wanted = false;
  };
  ssize_t access(const Remote& what);
  void post_control_receives();

 private:
  static constexpr std::uint32_t kUnknown = 0xffff'ffffU;

  // How a peer stands, by rank.
  struct Acquaintance {
    bool greeted = false;
    bool reached = false;       // or it is known that it cannot be
    std::uint64_t since_ns = 0; // something waits for it to be reached
    std::size_t letters = 0;    // in the outbox
    std::size_t parts = 0;      // of RMA and atomics, under way
  };
  // Also of one that has come by itself.
  Acquaintance& acquaintance(Rank rank) {
    const auto number = static_cast<std::uint32_t>(rank);
    if (number >= acquaintances_.size()) acquaintances_.resize(number + 1);
    return acquaintances_[number];
  }
  int add(fi_addr_t address, Rank& rank);
  void greet(Rank rank);
  bool is_reached(Rank to);
  bool is_patient_with(Rank to);
  void handle(const Event& event);
  bool received_whole(const Event& event);
  void ended(Operation& operation, const Completion& completion, bool received);
  void report(Operation& operation, const Completion& completion);
  void peer_gone(Rank peer, ErrorCode code);

  ssize_t match_for(const Receiving& what, Match& match);
  ssize_t peek(const Receiving& what, const Match& match);
  ssize_t claim(const Receiving& what);
  ssize_t post(const Receiving& what, const Match& match);
  ssize_t list(const Receiving& what, const Match& match);
  std::size_t match_listed();
  void end_listed(Operation& operation, const Completion& completion);

  void post_control(Operation& operation);
  struct Letter {
    Rank to{};
    std::vector<std::byte> bytes;
  };
  // Sends it now or later, in order.
  void say(Rank to, const Control& control, std::span<const ConstPiece> payload = {});
  std::size_t flush_outbox();
  ErrorCode send_letter(Letter& letter);
  void serve(Rank from, const Control& control, std::span<const std::byte> payload);
  void serve_write(Rank from, const Control& control, std::span<const std::byte> payload);
  void serve_read(Rank from, const Control& control);
  void serve_atomic(Rank from, const Control& control, std::span<const std::byte> payload);
  void answer(Rank to, const Control& asked, ErrorCode code, std::span<const ConstPiece> payload = {});
  void answered(Rank from, const Control& control, std::span<const std::byte> payload);
  void landed(Operation& operation, const Completion& completion);
  Part& begin_part(std::uint64_t id, Operation& operation, Rank peer);
  void part_ended(std::uint64_t id, ErrorCode code);
  void tell_last(Operation& operation);
  Operation& take_bulk(std::uint64_t id, Rank peer);
  void bulk_ended(const Operation& operation, const Completion& completion, bool received);
  void written_by_peer(Rank from, const Control& control);
  // Null where there is none, or it may not be reached so; the code says which.
  std::byte* reach(const Control& control, std::uint64_t access, ErrorCode& code);

  std::array<Event, 16> events_;           // that progress handles; here, so that not every poll has to clear them
  std::vector<std::uint32_t> ranks_;       // by address
  std::vector<fi_addr_t> known_addresses_; // by rank
  std::vector<Acquaintance> acquaintances_;
  std::deque<Operation> operations_;
  Operation* free_ = nullptr;
  Operation* receives_ = nullptr; // under way, newest first

  // Untagged receives that the endpoint matches itself, in order: from the first with FI_MULTI_RECV on all of them, so that each message goes
  // to the oldest.
  std::list<Operation*> listed_;
  bool lists_ = false;
  std::unordered_map<void*, Message> claimed_; // by context

  std::unordered_map<std::uint64_t, Part> parts_;
  std::uint64_t last_part_ = 0;
  bool letters_overtake_ = false; // one was longer than option eager_limit
  std::deque<Letter> outbox_;
  std::vector<Rank> full_; // of flush_outbox
  std::vector<std::unique_ptr<std::byte[]>> control_buffers_;
};

inline Endpoint& endpoint_of(fid_ep* fid) {
  return *reinterpret_cast<Endpoint*>(fid);
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
extern fi_ops_tagged tagged_operations;
extern fi_ops_msg message_operations;
extern fi_ops_rma memory_operations;
extern fi_ops_atomic atomic_operations;
int query_atomic(fid_domain* domain, fi_datatype datatype, fi_op op, fi_atomic_attr* attributes, std::uint64_t flags);

} // namespace heddle::provider
