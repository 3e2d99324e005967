// A member's tagged and unsolicited messages. What every process sends to every other follows from the seed, so each knows what
// it must get; when, and whether completion comes by event or by request, is each one's own choice.
#pragma once

#include "tests/chaos/member.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

namespace heddle::tests {

class Messages {
 public:
  Messages(Context& context, const ChaosPlan& plan, Fate& fate)
      : context_(context),
        fate_(fate),
        seed_(plan.seed),
        rank_(fate.rank()),
        size_(context.size()),
        dice_(plan.seed * 1000 + rank_),
        coming_(size_),
        leaving_(size_) {
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      leaving_[peer] = drawn(rank_, peer);
      coming_[peer] = drawn(peer, rank_);
    }
  }

  void send_one() {
    const std::uint32_t peer = dice_.rank(size_);
    const auto kind = static_cast<Kind>(dice_.below(kKinds));
    Stream& stream = leaving_[peer][kind];
    if (stream.next < stream.bytes.size() && !fate_.knows_dead(peer)) send(peer, kind);
  }
  void receive_one() {
    const std::uint32_t peer = dice_.rank(size_);
    if (dice_.chance(40))
      receive_from_any();
    else
      receive_from(peer);
  }
  void probe() {
    const auto seen = context_.probe({.source = Rank{dice_.rank(size_)}, .tag = Tag{wild}});
    if (seen && *seen) fate_.demand((*seen)->bytes >= 8, "a probe saw what nobody sent");
  }

  // Everything that is still to be sent and received is begun.
  void begin_rest() {
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      for (const Kind kind : {tagged, wild, unsolicited})
        while (leaving_[peer][kind].next < leaving_[peer][kind].bytes.size() && !fate_.knows_dead(peer))
          send(peer, kind);
      while (receive_from(peer)) {
      }
    }
    while (receive_from_any()) {
    }
  }

  // Takes what has ended or arrived; waits a little for it where asked to.
  void collect(std::chrono::nanoseconds limit = {}) {
    std::array<Event, 16> events;
    const std::size_t count = limit.count() == 0 ? context_.poll(events) : context_.wait_events(events, limit);
    for (std::size_t i = 0; i < count; ++i) take(events[i]);
    std::erase_if(under_way_, [this](Operation* operation) {
      if (!operation->ended && !operation->by_event)
        if (const auto completion = context_.test(operation->request)) end(*operation, *completion);
      return operation->ended;
    });
  }

  // Nothing is left to wait for. Receives for anybody's messages are taken back once no more can come.
  bool finished() {
    bool all_here = true;
    for (std::uint32_t peer = 0; peer < size_; ++peer) {
      if (fate_.knows_dead(peer)) continue;
      all_here = all_here && coming_[peer][unsolicited].got == coming_[peer][unsolicited].bytes.size() &&
                 coming_[peer][wild].got == coming_[peer][wild].bytes.size();
    }
    if (!all_here) return false;
    for (Operation* operation : under_way_)
      if (operation->what == Operation::What::receive_any && !operation->cancelled)
        operation->cancelled = context_.cancel(operation->request);
    return under_way_.empty();
  }

  // After the end: receives got each sender's messages in the order sent, and from who did not die, all of them.
  void check_order() const {
    std::vector<std::array<std::uint64_t, kKinds>> next(size_);
    for (const Operation& operation : operations_) {
      if (!operation.from) continue;
      std::uint64_t& expected = next[*operation.from][operation.what == Operation::What::receive_any ? wild : tagged];
      fate_.demand(operation.number == expected || (operation.number > expected && fate_.may_die(*operation.from)),
                   operation.name() + " of rank " + std::to_string(*operation.from) + " came out of order, expected " +
                       std::to_string(expected));
      expected = operation.number + 1;
    }
  }

 private:
  enum Kind : std::uint8_t { tagged, wild, unsolicited };
  static constexpr std::size_t kKinds = 3;
  static constexpr std::size_t kNumberBytes = 8; // at the front of tagged ones
  static constexpr std::uint64_t kSmall =
      100; // unsolicited ones up to this keep their order: they fit into the slots of any ring

  struct Stream {
    std::vector<std::uint64_t> bytes; // of each message
    std::size_t next = 0;             // to be sent, or received
    std::size_t got = 0;              // arrived, of what is not asked for one by one
    std::vector<bool> here;           // unsolicited ones that have arrived
    std::uint64_t last_small = 0;     // one more than the number of the last small one
  };
  using Streams = std::array<Stream, kKinds>;

  struct Operation {
    enum class What : std::uint8_t { send, receive, receive_any } what{};
    std::uint32_t peer = 0;
    std::uint64_t number = 0;
    bool by_event = false;
    bool ended = false;
    bool cancelled = false;
    std::optional<std::uint32_t> from; // of a receive that has ended well
    std::vector<std::byte> memory;
    Request request;

    [[nodiscard]] std::string name() const {
      constexpr std::array kNames{"send", "receive", "receive from any"};
      return kNames[static_cast<std::size_t>(what)] + std::string(" ") + std::to_string(number);
    }
  };

  Streams drawn(std::uint64_t from, std::uint64_t to) const {
    Dice dice((seed_ * 64 + from) * 64 + to);
    Streams streams;
    constexpr std::array<std::uint64_t, kKinds> kMost{9, 4, 6};
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const std::uint64_t count = dice.below(kMost[kind]);
      for (std::uint64_t i = 0; i < count; ++i)
        streams[kind].bytes.push_back(
            dice.bytes(kind == unsolicited ? 0 : kNumberBytes, dice.chance(10) ? 2'000'000 : 200'000));
      streams[kind].here.resize(count);
    }
    return streams;
  }

  Operation& begin(Operation operation) {
    operation.by_event = dice_.chance(40);
    operations_.push_back(std::move(operation));
    return operations_.back();
  }
  [[nodiscard]] Notify notify_of(const Operation& operation) const {
    return operation.by_event ? Notify::event(operations_.size() - 1) : Notify::request();
  }
  void begun(Operation& operation, const Result<Request>& request) {
    if (request) {
      operation.request = *request;
      under_way_.push_back(&operation);
      return;
    }
    fate_.demand(fate_.may_end(request.error().code, operation.peer), "refused: " + request.error().message());
    operation.ended = true;
  }

  void send(std::uint32_t peer, Kind kind) {
    Stream& stream = leaving_[peer][kind];
    Operation& operation = begin({.what = Operation::What::send, .peer = peer, .number = stream.next++, .memory = {}});
    operation.memory.resize(stream.bytes[operation.number]);
    Content(seed_, kind, rank_, peer, operation.number).write(operation.memory);
    if (kind != unsolicited) std::memcpy(operation.memory.data(), &operation.number, sizeof operation.number);
    if (kind == unsolicited) {
      begun(operation,
            context_.send_unsolicited(Rank{peer}, Tag{operation.number}, operation.memory, notify_of(operation)));
      return;
    }
    const SendMode mode = dice_.chance(15) ? SendMode::synchronous : SendMode::standard;
    begun(operation, context_.send(Rank{peer}, Tag{kind}, operation.memory, mode, notify_of(operation)));
  }

  bool receive_from(std::uint32_t peer) {
    Stream& stream = coming_[peer][tagged];
    if (stream.next == stream.bytes.size()) return false;
    Operation& operation =
        begin({.what = Operation::What::receive, .peer = peer, .number = stream.next++, .memory = {}});
    operation.memory.resize(std::ranges::max(stream.bytes)); // one may be missing where its sender dies
    begun(operation,
          context_.receive({.source = Rank{peer}, .tag = Tag{tagged}}, operation.memory, notify_of(operation)));
    return true;
  }

  bool receive_from_any() {
    std::size_t all = 0;
    std::uint64_t room = 0;
    for (const Streams& streams : coming_) {
      all += streams[wild].bytes.size();
      for (const std::uint64_t bytes : streams[wild].bytes) room = std::max(room, bytes);
    }
    if (wild_receives_ == all) return false;
    ++wild_receives_;
    Operation& operation = begin({.what = Operation::What::receive_any, .memory = {}});
    operation.memory.resize(room);
    begun(operation, context_.receive({.tag = Tag{wild}}, operation.memory, notify_of(operation)));
    return true;
  }

  void take(const Event& event) {
    const auto peer = static_cast<std::uint32_t>(event.completion.peer);
    if (event.kind == Event::Kind::peer_failed) {
      fate_.told(peer);
    } else if (event.kind == Event::Kind::unsolicited_arrived) {
      arrived(event, peer);
    } else if (event.kind == Event::Kind::sent || event.kind == Event::Kind::received ||
               event.kind == Event::Kind::unsolicited_left) {
      fate_.demand(event.cookie < operations_.size() && !operations_[event.cookie].ended, "an event for nothing");
      end(operations_[event.cookie], event.completion);
    } // that one has left in good order is no news here
  }

  void arrived(const Event& event, std::uint32_t peer) {
    Stream& stream = coming_[peer][unsolicited];
    const auto number = static_cast<std::uint64_t>(event.completion.tag);
    const std::string name = "unsolicited message " + std::to_string(number) + " of rank " + std::to_string(peer);
    fate_.demand(number < stream.bytes.size() && !stream.here[number], name + " came twice, or was never sent");
    fate_.demand(event.unsolicited.bytes == stream.bytes[number], name + " has another size");
    fate_.demand(
        Content(seed_, unsolicited, peer, rank_, number).stands_in({event.unsolicited.data, event.unsolicited.bytes}),
        name + " is not as it was sent");
    if (stream.bytes[number] <= kSmall) {
      fate_.demand(number >= stream.last_small, name + " came late");
      stream.last_small = number + 1;
    }
    stream.here[number] = true;
    ++stream.got;
    context_.release(event.unsolicited);
  }

  void end(Operation& operation, const Completion& completion) {
    operation.ended = true;
    if (completion.code == ErrorCode::cancelled && operation.cancelled) return;
    const bool any = operation.what == Operation::What::receive_any;
    if (completion.code != ErrorCode::ok) { // of a receive from any: it had matched a message of one that died
      const std::uint32_t peer = any ? static_cast<std::uint32_t>(completion.peer) : operation.peer;
      fate_.demand(fate_.may_end(completion.code, peer), operation.name() + " with rank " + std::to_string(peer) +
                                                             " ended with " + std::string(to_string(completion.code)));
      return;
    }
    if (operation.what == Operation::What::send)
      std::ranges::fill(operation.memory, std::byte{0xee}); // it is the program's again
    else
      check_received(operation, completion, any ? wild : tagged);
  }

  // Which message it is says its first word.
  void check_received(Operation& operation, const Completion& completion, Kind kind) {
    const auto peer = static_cast<std::uint32_t>(completion.peer);
    std::memcpy(&operation.number, operation.memory.data(), sizeof operation.number);
    Stream& stream = coming_[peer][kind];
    const std::string name = operation.name() + " of rank " + std::to_string(peer);
    fate_.demand(operation.number < stream.bytes.size() && completion.bytes == stream.bytes[operation.number],
                 name + " was never sent so");
    const std::span got(operation.memory.data(), completion.bytes);
    Content(seed_, kind, peer, rank_, operation.number).write(got.first(kNumberBytes));
    fate_.demand(Content(seed_, kind, peer, rank_, operation.number).stands_in(got), name + " is not as it was sent");
    operation.from = peer;
    ++stream.got;
  }

  Context& context_;
  Fate& fate_;
  std::uint64_t seed_;
  std::uint32_t rank_;
  std::uint32_t size_;
  Dice dice_;
  std::vector<Streams> coming_;  // by peer
  std::vector<Streams> leaving_; // by peer
  std::deque<Operation> operations_;
  std::vector<Operation*> under_way_;
  std::size_t wild_receives_ = 0;
};

} // namespace heddle::tests
