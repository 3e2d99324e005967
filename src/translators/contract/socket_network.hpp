// A network between processes that have nothing in common but a pair of connected sockets for every two of them: what a machine
// is to another. Commands travel as frames, and the target carries them out when it polls. For tests.
#pragma once

#include "base/descriptor.hpp"
#include "ir/translator.hpp"
#include "translators/area_keys.hpp"
#include "translators/event_list.hpp"
#include "translators/memory_table.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace heddle::translators::contract {

class SocketNetwork final : public ir::Translator, public ir::Sleeping {
 public:
  // Sockets by rank, each connected to that rank's; those that are not open lead nowhere.
  SocketNetwork(std::uint32_t self, std::vector<base::Descriptor> sockets);
  // Says goodbye to everybody.
  ~SocketNetwork() override;

  [[nodiscard]] std::string_view name() const override { return "sockets"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Facets facets() override { return {.sleeping = this}; }
  [[nodiscard]] ir::Address address() const override;
  [[nodiscard]] Result<void> reaches(const ir::Address& address) const override;
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override { return memory_.allocate(next_key(), bytes); }
  void deallocate(const ir::ExposedMemory& memory) override { memory_.deallocate(memory); }
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override { return memory_.expose(next_key(), memory); }
  void withdraw(const ir::RemotePlace& place) override { memory_.withdraw(place.key); }
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override;
  void detach(ir::Peer peer) override;
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] bool drained() const override;
  [[nodiscard]] bool will_tell_end(ir::Peer peer) const override {
    return leads_to(peer) && static_cast<std::uint32_t>(peer) != self_;
  }

  // A socket stays readable, so nothing has to be announced.
  bool announce_sleep(By) override { return drained(); }
  void cancel_sleep() override {}
  void sleep(std::chrono::nanoseconds limit) override;
  [[nodiscard]] Result<int> descriptor() override { return poller_.number(); }

 private:
  struct Wire {
    base::Descriptor socket;
    bool attached = false;
    bool has_left = false;
    std::map<std::uint64_t, ir::Command> asked; // by number: commands whose answer is to come
    std::deque<std::vector<std::byte>> backlog; // answers that the socket has not taken
  };
  enum class Verb : std::uint32_t { command, answer, goodbye };
  struct Frame;

  ir::MemoryKey next_key() { return std::exchange(next_key_, ir::MemoryKey{keys_.draw()}); }
  [[nodiscard]] bool leads_to(ir::Peer peer) const;
  [[nodiscard]] ir::Status gone(const Wire& wire) const;
  // False: the socket takes nothing now.
  bool send(Wire& wire, const ir::Command& command);
  static bool flush(Wire& wire);
  // Whatever has come; at its end the peer is gone.
  void receive(std::uint32_t rank);
  void carry_out(Wire& wire, const Frame& frame, std::span<const std::byte> content);
  void take_answer(Wire& wire, std::uint32_t rank, const Frame& frame, std::span<const std::byte> content);
  void end(std::uint32_t rank);
  void complete(const ir::Command& command, ir::Status status, std::uint64_t value);

  std::uint32_t self_;
  ir::Capabilities capabilities_;
  std::vector<Wire> wires_; // by rank
  base::Descriptor poller_;
  AreaKeys keys_ = AreaKeys::secret();
  const ir::MemoryKey first_key_{keys_.draw()};
  ir::MemoryKey next_key_ = first_key_;
  MemoryTable memory_;
  EventList events_;
  std::uint64_t next_number_ = 1;
  std::vector<std::byte> inbox_;
};

namespace sockets {

inline constexpr std::uint64_t kLargestTransfer = 32 << 10;
inline constexpr std::size_t kFramesAtOnce = 64;

inline std::size_t index_of(ir::Peer peer) {
  return static_cast<std::uint32_t>(peer);
}

inline iovec piece(const void* data, std::size_t bytes) {
  return {.iov_base = const_cast<void*>(data), .iov_len = bytes};
}

// One packet, whole or not at all. False: the socket takes nothing now. A socket whose other end is closed takes everything.
inline bool send_packet(int socket, std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || (errno != EAGAIN && errno != EINTR);
}

} // namespace sockets

struct SocketNetwork::Frame {
  Verb verb{};
  ir::Status status{};
  std::uint64_t number = 0; // of the command; 0: wants no answer
  std::uint64_t value = 0;
  ir::Command command; // head included
};

inline SocketNetwork::SocketNetwork(std::uint32_t self, std::vector<base::Descriptor> sockets)
    : self_(self),
      capabilities_{.orders_puts = true,
                    .atomics = true,
                    .atomics_with_processor = true,
                    .atomics_on_any_memory = true,
                    .reads_any_memory = true,
                    .inline_bytes = sockets::kLargestTransfer,
                    .largest_transfer = sockets::kLargestTransfer},
      wires_(sockets.size()),
      poller_(::epoll_create1(EPOLL_CLOEXEC)),
      inbox_(sizeof(Frame) + sockets::kLargestTransfer + ir::kHeadBytes) {
  for (std::uint32_t rank = 0; rank < sockets.size(); ++rank) {
    wires_[rank].socket = std::move(sockets[rank]);
    epoll_event wanted{.events = EPOLLIN, .data = {.u32 = rank}};
    if (wires_[rank].socket.open()) ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, wires_[rank].socket.number(), &wanted);
  }
}

inline SocketNetwork::~SocketNetwork() {
  Frame frame{.verb = Verb::goodbye};
  std::array whole{sockets::piece(&frame, sizeof frame)};
  for (Wire& wire : wires_)
    if (wire.socket.open()) sockets::send_packet(wire.socket.number(), whole);
}

inline ir::Address SocketNetwork::address() const {
  ir::Address address{};
  std::memcpy(address.data(), &first_key_, sizeof first_key_);
  std::memcpy(address.data() + sizeof first_key_, &self_, sizeof self_);
  return address;
}

inline bool SocketNetwork::leads_to(ir::Peer peer) const {
  return sockets::index_of(peer) == self_ ||
         (sockets::index_of(peer) < wires_.size() && wires_[sockets::index_of(peer)].socket.open());
}

inline Result<void> SocketNetwork::reaches(const ir::Address& address) const {
  std::uint32_t rank = 0;
  std::memcpy(&rank, address.data() + sizeof first_key_, sizeof rank);
  if (leads_to(ir::Peer{rank})) return {};
  return std::unexpected(Error{.code = ErrorCode::unreachable, .fact = "no socket leads there"});
}

inline Result<ir::RemotePlace> SocketNetwork::attach(ir::Peer peer, const ir::Address& address) {
  if (leads_to(peer)) receive(static_cast<std::uint32_t>(peer)); // it may be gone
  if (!leads_to(peer))
    return std::unexpected(Error{.code = ErrorCode::unreachable,
                                 .fact = "no socket leads to peer " + std::to_string(sockets::index_of(peer)),
                                 .peer = static_cast<std::int64_t>(peer)});
  wires_[sockets::index_of(peer)].attached = true;
  ir::RemotePlace bootstrap;
  std::memcpy(&bootstrap.key, address.data(), sizeof bootstrap.key);
  return bootstrap;
}

inline void SocketNetwork::detach(ir::Peer peer) {
  if (sockets::index_of(peer) >= wires_.size()) return;
  Wire& wire = wires_[sockets::index_of(peer)];
  wire.attached = false;
  for (const auto& [number, command] : std::exchange(wire.asked, {})) complete(command, ir::Status::peer_lost, 0);
}

inline std::size_t SocketNetwork::submit(std::span<const ir::Command> commands) {
  for (const ir::Command& command : commands) {
    const std::size_t rank = sockets::index_of(command.peer);
    const bool put = command.operation == ir::Operation::put;
    if (rank >= wires_.size() || !wires_[rank].attached || !leads_to(command.peer)) {
      complete(command, rank < wires_.size() ? gone(wires_[rank]) : ir::Status::peer_lost, 0);
    } else if (command.bytes > sockets::kLargestTransfer || (put && command.head_bytes > ir::kHeadBytes)) {
      complete(command, ir::Status::refused, 0);
    } else if (rank == self_) {
      std::uint64_t value = 0;
      const ir::Status status = memory_.execute(command, value);
      complete(command, status, value);
    } else if (!send(wires_[rank], command)) {
      return static_cast<std::size_t>(&command - commands.data());
    }
  }
  return commands.size();
}

inline bool SocketNetwork::send(Wire& wire, const ir::Command& command) {
  if (!flush(wire)) return false;
  const bool answered = ir::has(command.flags, ir::Flags::signalled) || command.operation != ir::Operation::put;
  Frame frame{.verb = Verb::command, .number = answered ? next_number_ : 0, .command = command};
  const bool carries = command.operation == ir::Operation::put;
  std::array pieces{sockets::piece(&frame, sizeof frame), sockets::piece(command.local, carries ? command.bytes : 0)};
  if (!sockets::send_packet(wire.socket.number(), pieces)) return false;
  if (answered) wire.asked.emplace(next_number_++, command);
  return true;
}

inline bool SocketNetwork::flush(Wire& wire) {
  while (!wire.backlog.empty()) {
    std::array whole{sockets::piece(wire.backlog.front().data(), wire.backlog.front().size())};
    if (!sockets::send_packet(wire.socket.number(), whole)) return false;
    wire.backlog.pop_front();
  }
  return true;
}

inline bool SocketNetwork::drained() const {
  return std::ranges::all_of(wires_, [](const Wire& wire) { return wire.backlog.empty(); });
}

inline std::size_t SocketNetwork::poll(std::span<ir::Event> events) {
  std::array<epoll_event, 16> ready{};
  const int count = ::epoll_wait(poller_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) receive(ready[static_cast<std::size_t>(i)].data.u32);
  for (Wire& wire : wires_)
    if (!wire.backlog.empty()) flush(wire);
  return events_.pop(events);
}

inline void SocketNetwork::receive(std::uint32_t rank) {
  Wire& wire = wires_[rank];
  for (std::size_t i = 0; i < sockets::kFramesAtOnce && wire.socket.open(); ++i) {
    const ssize_t got = ::recv(wire.socket.number(), inbox_.data(), inbox_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) continue; // what it had sent before is still to come
    if (got < 0) return;
    if (got < static_cast<ssize_t>(sizeof(Frame))) return end(rank);
    Frame frame;
    std::memcpy(&frame, inbox_.data(), sizeof frame);
    const auto content = std::span<const std::byte>(inbox_).first(static_cast<std::size_t>(got)).subspan(sizeof frame);
    switch (frame.verb) {
      case Verb::command: carry_out(wire, frame, content); break;
      case Verb::answer: take_answer(wire, rank, frame, content); break;
      case Verb::goodbye: wire.has_left = true; break;
    }
  }
}

inline void SocketNetwork::carry_out(Wire& wire, const Frame& frame, std::span<const std::byte> content) {
  ir::Command command = frame.command;
  std::vector<std::byte> read(
      command.operation == ir::Operation::get ? std::min(command.bytes, sockets::kLargestTransfer) : 0);
  command.local = command.operation == ir::Operation::get ? read.data() : const_cast<std::byte*>(content.data());
  if (command.operation == ir::Operation::put) command.bytes = content.size();
  Frame answer{.verb = Verb::answer, .number = frame.number};
  answer.status = memory_.execute(command, answer.value);
  if (frame.number == 0) return;
  if (answer.status != ir::Status::ok) read.clear();
  std::vector<std::byte> packet(sizeof answer);
  std::memcpy(packet.data(), &answer, sizeof answer);
  packet.insert(packet.end(), read.begin(), read.end());
  wire.backlog.push_back(std::move(packet));
  flush(wire);
}

inline void SocketNetwork::take_answer(Wire& wire, std::uint32_t rank, const Frame& frame,
                                       std::span<const std::byte> content) {
  const auto asked = wire.asked.find(frame.number);
  if (asked == wire.asked.end()) return; // detached meanwhile
  const ir::Command command = asked->second;
  wire.asked.erase(asked);
  if (command.operation == ir::Operation::get && frame.status == ir::Status::ok) {
    if (content.size() != command.bytes) return end(rank);
    if (!content.empty()) std::memcpy(command.local, content.data(), content.size());
  }
  complete(command, frame.status, frame.value);
}

inline ir::Status SocketNetwork::gone(const Wire& wire) const {
  return wire.has_left ? ir::Status::peer_left : ir::Status::peer_lost;
}

inline void SocketNetwork::end(std::uint32_t rank) {
  Wire& wire = wires_[rank];
  wire.socket.reset();
  wire.backlog.clear();
  for (const auto& [number, command] : std::exchange(wire.asked, {})) complete(command, gone(wire), 0);
  events_.push({.kind = wire.has_left ? ir::EventKind::peer_left : ir::EventKind::peer_failed,
                .status = gone(wire),
                .peer = ir::Peer{rank}});
}

inline void SocketNetwork::complete(const ir::Command& command, ir::Status status, std::uint64_t value) {
  if (!ir::has(command.flags, ir::Flags::signalled)) return;
  events_.push({.kind = ir::EventKind::completed,
                .status = status,
                .peer = command.peer,
                .cookie = command.cookie,
                .value = value});
}

inline void SocketNetwork::sleep(std::chrono::nanoseconds limit) {
  pollfd waits{.fd = poller_.number(), .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  ::ppoll(&waits, 1, &time, nullptr);
}

// Between every two of so many processes: result[a][b] leads from a to b. None leads to oneself.
inline std::vector<std::vector<base::Descriptor>> connect_all(std::uint32_t processes) {
  std::vector<std::vector<base::Descriptor>> sockets(processes);
  for (auto& of_one : sockets) of_one.resize(processes);
  for (std::uint32_t a = 0; a < processes; ++a)
    for (std::uint32_t b = a + 1; b < processes; ++b) {
      std::array<int, 2> ends{};
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        std::perror("socketpair");
        std::abort();
      }
      sockets[a][b] = base::Descriptor(ends[0]);
      sockets[b][a] = base::Descriptor(ends[1]);
    }
  return sockets;
}

} // namespace heddle::translators::contract
